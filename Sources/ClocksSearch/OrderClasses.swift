import ClocksSupport

/// The orders and the happens-before classes that the runs of a search have shown, as hashes.
package struct Coverage: Sendable {
  package private(set) var orders: Set<UInt64> = []
  package private(set) var classes: Set<UInt64> = []
  /// For each class the number of the run that showed it first, in ascending order.
  private var discoveries: [Int] = []

  package init() {}

  /// Adds the run with this number, from 1. Returns whether its order and its class are new.
  package mutating func add(_ record: RunRecord, number: Int) -> (order: Bool, class: Bool) {
    guard orders.insert(record.hash).inserted else { return (false, false) }
    guard classes.insert(record.classHash).inserted else { return (true, false) }
    discoveries.append(number)
    return (true, true)
  }

  /// Returns the 1,024 smallest hashes, as hexadecimal numbers. O(n log n).
  ///
  /// From the sketches of several sets, the size of their union can be estimated (Bar-Yossef et al., "Counting
  /// Distinct Elements in a Data Stream", 2002).
  package static func sketch(_ hashes: Set<UInt64>) -> [String] {
    hashes.sorted().prefix(1_024).map { String($0, radix: 16) }
  }

  /// The number of the last run that showed a new class.
  package var lastDiscovery: Int { discoveries.last ?? 0 }

  /// Returns the number of classes that were first seen after the run with this number. O(result).
  package func classes(after number: Int) -> Int {
    discoveries.count - (discoveries.lastIndex { $0 <= number }.map { $0 + 1 } ?? 0)
  }
}

extension RunRecord {
  /// A hash of the partial order of the steps, equal in all runs of one happens-before class.
  /// O(steps + touches).
  ///
  /// A step depends on the step in which it became ready, and on the last earlier step of its task. For each actor that
  /// it touches, it also depends on the last earlier step that touches the actor. The hash of a step combines its name
  /// with the hashes of these steps, so it stands for all that happened before. The hash of the run is the sum over its
  /// steps. The hashes name no actor, because the numbers of actors differ from run to run.
  var classHash: UInt64 {
    let count = steps.count
    guard count > 0 else { return 0 }
    var actors = 0
    for index in 0..<touches.count { actors = max(actors, Int(touches[index].actor) + 1) }
    // In a debug build, pointers are many times as fast as arrays.
    let hashes = UnsafeMutablePointer<UInt64>.allocate(capacity: count)
    // `lastTouch` has the last touch of each step, `touchBefore` the previous touch of the same step; -1 ends a list.
    let lastTouch = UnsafeMutablePointer<Int32>.allocate(capacity: count)
    let touchBefore = UnsafeMutablePointer<Int32>.allocate(capacity: max(touches.count, 1))
    // For each actor, the last step that touched it.
    let toucher = UnsafeMutablePointer<Int32>.allocate(capacity: max(actors, 1))
    defer {
      hashes.deallocate()
      lastTouch.deallocate()
      touchBefore.deallocate()
      toucher.deallocate()
    }
    lastTouch.update(repeating: -1, count: count)
    toucher.update(repeating: -1, count: max(actors, 1))
    for index in 0..<touches.count {
      let step = Int(touches[index].step)
      touchBefore[index] = -1
      guard step >= 0 else { continue }
      touchBefore[index] = lastTouch[step]
      lastTouch[step] = Int32(truncatingIfNeeded: index)
    }
    var sum: UInt64 = 0
    for step in 0..<count {
      let (cause, earlier) = (causes[step], previous[step])
      var past: UInt64 = 0
      if cause >= 0 { past &+= hashes[Int(cause)] }
      if earlier >= 0, earlier != cause { past &+= hashes[Int(earlier)] }
      var touch = lastTouch[step]
      while touch >= 0 {
        let actor = Int(touches[Int(touch)].actor)
        let other = toucher[actor]
        if other >= 0, other != step, other != cause, other != earlier {
          past &+= Mixer.mix(hashes[Int(other)], 1)
        }
        toucher[actor] = Int32(truncatingIfNeeded: step)
        touch = touchBefore[Int(touch)]
      }
      hashes[step] = Mixer.mix(past, stepHashes[step])
      sum &+= hashes[step]
    }
    return sum
  }
}
