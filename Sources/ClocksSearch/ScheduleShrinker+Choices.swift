extension ScheduleShrinker {
  /// Reduces `choices` while the failure remains: to fewer faults, then to fewer other choices, with smaller options.
  nonisolated(nonsending) mutating func reduceChoices(
    _ constraints: [Constraint], _ test: Test
  ) async {
    guard !choices.isEmpty else {
      areChoicesMinimal = true
      return
    }
    areChoicesMinimal = false
    await leaveOut(constraints, test) { $0.isFault }
    await leaveOut(constraints, test) { !$0.isFault }
    for index in choices.indices where choices[index].index > 1 {
      await reduce(at: index, constraints, test)
    }
    // A smaller option may make another choice unnecessary.
    areChoicesMinimal = await isEachNeeded(constraints, test)
  }

  /// Removes choices while the failure remains: tries all together, then halves, quarters, and so on, then each one.
  private nonisolated(nonsending) mutating func leaveOut(
    _ constraints: [Constraint], _ test: Test, _ isAsked: (Choice) -> Bool
  ) async {
    var size = choices.count(where: isAsked)
    while size > 0 {
      // Begins at the end, because the test may need the earlier choices just to reach the point of failure.
      var asked = choices.filter(isAsked)
      while !asked.isEmpty, mayGoOn {
        let part = asked.suffix(size)
        asked.removeLast(part.count)
        let fewer = choices.filter { !part.contains($0) }
        if await fails(constraints, fewer, test) { choices = fewer }
      }
      size = size == 1 ? 0 : (size + 1) / 2
    }
  }

  /// Gives a choice a smaller option with which the failure remains, if one is found.
  private nonisolated(nonsending) mutating func reduce(
    at index: Int, _ constraints: [Constraint], _ test: Test
  ) async {
    // Begins with option 1: option 0 is no choice, and removing the choice was tried.
    var low = 1
    func smaller(_ option: Int) -> [Choice] {
      var smaller = choices
      smaller[index].index = option
      return smaller
    }
    // The smallest options are tried one by one, because not every option above a failing option fails.
    while low < min(choices[index].index, 9), mayGoOn {
      let tried = smaller(low)
      if await fails(constraints, tried, test) {
        choices = tried
        return
      }
      low += 1
    }
    while low < choices[index].index, mayGoOn {
      let middle = low + (choices[index].index - low) / 2
      let tried = smaller(middle)
      if await fails(constraints, tried, test) { choices = tried } else { low = middle + 1 }
    }
  }

  /// Removes each choice without which the failure remains. Returns whether the failure is seen to need the rest.
  private nonisolated(nonsending) mutating func isEachNeeded(
    _ constraints: [Constraint], _ test: Test
  ) async -> Bool {
    // The number of choices that were found necessary since the last removal.
    var (needed, index) = (0, 0)
    while needed < choices.count, choices.count + constraints.count > 1 {
      guard mayGoOn else { return false }
      var fewer = choices
      fewer.remove(at: index)
      if await fails(constraints, fewer, test) {
        choices = fewer
        needed = 0
      } else {
        needed += 1
        index += 1
      }
      if index >= choices.count { index = 0 }
    }
    return true
  }

  private nonisolated(nonsending) mutating func fails(
    _ constraints: [Constraint], _ choices: [Choice], _ test: Test
  ) async -> Bool {
    await run(constraints, choices, test) != nil
  }
}
