extension Duration {
  /// The length in seconds, rounded.
  var seconds: Double {
    Double(attoseconds) * 1e-18
  }
}
