import Testing

@testable import Clocks

/// Names as the demangler returns them, and as they were written.
@Suite struct FunctionNameTests {
  @Test(arguments: [
    ("(2) await resume partial function for t.Poller.inner() async -> ()", "t", "Poller.inner()"),
    (
      """
      (1) suspend resume partial function for closure #2 @Sendable () async -> () in variable initialization \
      expression of static T.Poller.shared : T.Poller
      """, "T", "closure #2 in Poller.shared"
    ),
    (
      "(1) await resume partial function for t.(gate in _9AA20C7C53A214BFCE5DF8269DEEAC4F)() async -> ()",
      "t", "gate()"
    ),
    (
      """
      (4) await resume partial function for ClocksTests.(Typewriter in _7F1563C52E07950E8D2C257C45071C9B)\
      .write(Swift.String) async throws -> ()
      """, "ClocksTests", "Typewriter.write(_:)"
    ),
    (
      """
      (1) await resume partial function for (extension in Swift):Swift.Clock.sleep(for: A.Duration, \
      tolerance: A.Duration?) async throws -> ()
      """, "Swift", "Clock.sleep(for:tolerance:)"
    ),
    (
      "(1) suspend resume partial function for closure #1 (inout Swift.TaskGroup<()>) async -> () in t.group() async -> ()",
      "t", "closure #1 in group()"
    ),
    (
      """
      (3) suspend resume partial function for closure #1 () async throws -> () in closure #2 \
      nonisolated(nonsending) (Clocks.VirtualTime) async -> () in T.Timers.ends(after: Swift.Int) async throws -> ()
      """, "T", "closure #1 in closure #2 in Timers.ends(after:)"
    ),
    (
      """
      (2) suspend resume partial function for TimeoutTask.TimeLimit.run<A, B where B1: Swift.Error, A1: \
      ~Swift.Copyable>(isolation: isolated Swift.Actor?, _: nonisolated(nonsending) () async throws(B1) \
      -> A1) async throws -> A1
      """, "TimeoutTask", "TimeLimit.run(isolation:_:)"
    ),
    ("(1) await resume partial function for Swift.Task.value.getter : A", "Swift", "Task.value"),
    (
      "(1) await resume partial function for generic specialization <Swift.Int, T.A<Swift.Int>> of T.Box.get<A>(A, of: (A) -> B) async -> A",
      "T", "Box.get(_:of:)"
    ),
    (
      "(1) await resume partial function for inner #1 () async -> () in T.Outer.run() async -> ()",
      "T", "inner() in Outer.run()"
    ),
    (
      "T.Model.__allocating_init(name: Swift.String) async -> T.Model", "T", "Model.init(name:)"
    ),
    (
      "(1) await resume partial function for static T.M.main() async -> ()", "T", "M.main()"
    ),
    (
      "(1) await resume partial function for implicit closure #1 @Sendable () async -> () in T.lets() async -> ()",
      "T", "implicit closure #1 in lets()"
    ),
    ("main", "", "main"),
    (
      "(2) suspend resume partial function for T.Suite.`adds (two in one). Yes: a < b`() async -> ()",
      "T", "Suite.`adds (two in one). Yes: a < b`()"
    ),
    ("T.`costs $six`() async -> ()", "T", "`costs $six`()"),
    (
      """
      (1) await resume partial function for closure #1 @Sendable () async -> () in T.`a suite`\
      .`adds (two`(`a: b`: Swift.Int, of: `a suite`, _: () -> ()) async -> ()
      """, "T", "closure #1 in `a suite`.`adds (two`(`a: b`:of:_:)"
    ),
    (
      "`in one` #1 () -> () in T.(`a (b) in c` in _9AA20C7C53A214BFCE5DF8269DEEAC4F)() async -> ()",
      "T", "`in one`() in `a (b) in c`()"
    ),
  ])
  func whatAPersonWrote(_ demangled: String, module: String, text: String) {
    let name = FunctionName(demangled: demangled)
    #expect(name.module == module)
    #expect(name.text == text)
    #expect(!name.isThunk)
  }

  @Test(arguments: [
    "(1) await resume partial function for partial apply forwarder for closure #1 () async -> () in T.f() async -> ()",
    """
    (1) await resume partial function for reabstraction thunk helper <A, B where A: Swift.Sendable, B == \
    Swift.Never> from @escaping @isolated(any) @callee_guaranteed @async () -> (@out A) to @escaping \
    @callee_guaranteed @async () -> (@out A, @error @owned Swift.Error)
    """,
    """
    (4) await resume partial function for static ClocksTests.StandstillTests.($s11ClocksTests0B0V020a0D0fMp_\
    17Z743587f32990ef7bfMu_ in _5FBFD2A3117D2EDCFE4E59E7F03FFBD9)@Sendable () async throws -> ()
    """,
  ])
  func whatTheCompilerWrote(_ demangled: String) {
    #expect(FunctionName(demangled: demangled).isThunk)
  }

  @Test(arguments: [
    ("t.Poller.inner() async -> ()", "inner()"), ("t.free(_: Swift.Int) -> ()", "free(_:)"),
    ("t.Cache.Entry.image(for: t.Key, at: t.Place.Kind) async -> t.Image", "image(for:at:)"),
    ("t.Box.value.getter : Swift.Int", "value"), ("", ""),
    ("t.Suite.`adds (a. b)`(`a: b`: Swift.Int) async -> ()", "`adds (a. b)`(`a: b`:)"),
    ("`in one` #1 () -> () in t.Suite.adds() async -> ()", "`in one`()"),
  ])
  func theNameAlone(_ demangled: String, name: String) {
    #expect(FunctionName(demangled: demangled).nameAlone == name)
  }

  @Test(arguments: [
    "", "(", "(1", "closure #", " in ", "a.b.(c in _", "f(", "g<", "((((", "$s11X", "`", "a.`",
    "(`", "f(`", "`a` #1 () in `",
  ])
  func aTextThatIsNotANameDoesNotTrap(_ text: String) {
    _ = FunctionName(demangled: text)
  }
}
