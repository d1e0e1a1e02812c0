/// An actor that counts. A call of it is a hop.
actor Counter {
  private(set) var count = 0

  func increment() { count += 1 }

  func incrementSlowly(yields: Int) async {
    for _ in 0..<yields { await Task.yield() }
    count += 1
  }
}
