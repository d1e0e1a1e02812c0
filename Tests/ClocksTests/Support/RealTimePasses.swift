import Dispatch

/// Returns when so many seconds of real time have passed, which no scheduler of ours sees.
func realTimePasses(_ seconds: Double) async {
  await withCheckedContinuation { continuation in
    DispatchQueue.global().asyncAfter(deadline: .now() + seconds) { continuation.resume() }
  }
}
