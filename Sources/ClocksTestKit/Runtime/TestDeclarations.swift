#if os(Linux) && canImport(Glibc)
  import Clocks
  import Testing

  /// Adds a trait to each test and suite that is declared.
  ///
  /// The code that `@Test` and `@Suite` expand to calls functions of Swift Testing, each of which creates one
  /// `Test`. The program's calls are redirected to `withTrait`, which adds the trait and calls the original
  /// function.
  ///
  /// These functions are generic, and Swift Testing is a resilient library. So each parameter, including those for
  /// generic types, is passed as an address, one word or two words. One function that forwards twenty words can
  /// therefore replace each of these functions: words beyond the last parameter have no effect.
  ///
  /// Source: `Test+Macro.swift` of Swift Testing, as of Swift 6.3.
  enum TestDeclarations {
    // A tuple of words, because the compiler passes each of its words as a separate parameter.
    private typealias Words = (
      UInt, UInt, UInt, UInt, UInt, UInt, UInt, UInt, UInt, UInt, UInt, UInt, UInt, UInt, UInt,
      UInt, UInt, UInt, UInt, UInt
    )

    private struct Declare {
      var call: (Words) -> Test
    }

    /// Symbols for tests without arguments, with a dictionary, a collection, a collection of pairs, two
    /// zipped collections or two collections; for suites.
    private static let names: [StaticString] = [
      """
      $s7Testing4TestV10__function5named2in02xcB18CompatibleSelector11displayName6traits14\
      sourceLocation10parameters12testFunctionACSS_xmSgs5NeverOSgSSSgSayAA0B5Trait_pGAA06S\
      ourceM0VSaySS05firstJ0_AQ06secondJ0ypXp4typetGyyYaYbKctRi_zRi0_zlFZ
      """,
      """
      $s7Testing4TestV10__function5named2in02xcB18CompatibleSelector11displayName6traits9a\
      rguments14sourceLocation10parameters12testFunctionACSS_xmSgs5NeverOSgSSSgSayAA0B5Tra\
      it_pGSDyq_q0_GyYaYbKcAA06SourceN0VSaySS05firstJ0_AR06secondJ0ypXp4typetGyq__q0_t_tYa\
      YbKctSHR_s8SendableR_sA0_R0_Ri_zRi0_zr1_lFZ
      """,
      """
      $s7Testing4TestV10__function5named2in02xcB18CompatibleSelector11displayName6traits9a\
      rguments14sourceLocation10parameters12testFunctionACSS_xmSgs5NeverOSgSSSgSayAA0B5Tra\
      it_pGq_yYaYbKcAA06SourceN0VSaySS05firstJ0_AR06secondJ0ypXp4typetGy7ElementQy_YaYbKct\
      SlR_s8SendableR_sA1_A0_RQRi_zRi0_zr0_lFZ
      """,
      """
      $s7Testing4TestV10__function5named2in02xcB18CompatibleSelector11displayName6traits9a\
      rguments14sourceLocation10parameters12testFunctionACSS_xmSgs5NeverOSgSSSgSayAA0B5Tra\
      it_pGq_yYaYbKcAA06SourceN0VSaySS05firstJ0_AR06secondJ0ypXp4typetGyq0__q1_t_tYaYbKctS\
      lR_s8SendableR_sA_R0_sA_R1_q0__q1_t7ElementRt_Ri_zRi0_zr2_lFZ
      """,
      """
      $s7Testing4TestV10__function5named2in02xcB18CompatibleSelector11displayName6traits9a\
      rguments14sourceLocation10parameters12testFunctionACSS_xmSgs5NeverOSgSSSgSayAA0B5Tra\
      it_pGs12Zip2SequenceVyq_q0_GyYaYbKcAA06SourceN0VSaySS05firstJ0_AR06secondJ0ypXp4type\
      tGy7ElementQy__A2_Qy0_tYaYbKctSlR_s8SendableR_SlR0_sA5_R0_sA5_A3_RQsA5_A4_RQRi_zRi0_\
      zr1_lFZ
      """,
      """
      $s7Testing4TestV10__function5named2in02xcB18CompatibleSelector11displayName6traits9a\
      rguments_14sourceLocation10parameters12testFunctionACSS_xmSgs5NeverOSgSSSgSayAA0B5Tr\
      ait_pGq_yYaYbKcq0_yYaYbKcAA06SourceN0VSaySS05firstJ0_AR06secondJ0ypXp4typetGy7Elemen\
      tQy__A_Qy0_tYaYbKctSlR_s8SendableR_SlR0_sA2_R0_sA2_A0_RQsA2_A1_RQRi_zRi0_zr1_lFZ
      """,
      """
      $s7Testing4TestV6__type_11displayName6traits14sourceLocationACxm_SSSgSayAA10SuiteTra\
      it_pGAA06SourceH0VtRi_zRi0_zlFZ
      """,
    ]

    nonisolated(unsafe) private static var originals: [Declare] = []
    nonisolated(unsafe) private static var trait: (any TestTrait & SuiteTrait)?

    /// Adds the trait to each test and suite that is declared from now on. Returns whether that is possible.
    static func add(_ trait: any TestTrait & SuiteTrait) -> Bool {
      // A function value is an address of code and a context. A global function has no context.
      originals = names.compactMap { name in
        RuntimeSymbol.address(of: "\(name)").map {
          unsafeBitCast((code: $0, context: UnsafeRawPointer?.none), to: Declare.self)
        }
      }
      guard originals.count == names.count else { return false }
      self.trait = trait
      let entries = zip(names, replacements).map {
        CallTables.Entry(name: $0, replacement: $1, isFound: true)
      }
      CallTables.redirect(entries, in: .users)
      return true
    }

    private static var replacements: [UnsafeRawPointer] {
      // Only the code's address goes into the call table, so a function cannot capture its number. Each has its own.
      let functions = [
        Declare { withTrait(0, $0) }, Declare { withTrait(1, $0) }, Declare { withTrait(2, $0) },
        Declare { withTrait(3, $0) }, Declare { withTrait(4, $0) }, Declare { withTrait(5, $0) },
        Declare { withTrait(6, $0) },
      ]
      return functions.map {
        unsafeBitCast($0, to: (code: UnsafeRawPointer, context: UnsafeRawPointer?).self).code
      }
    }

    /// Calls the original function with the added trait before the other traits.
    private static func withTrait(_ number: Int, _ words: Words) -> Test {
      var words = words
      let original = originals[number].call
      if number == names.count - 1 {
        let traits = [trait! as any SuiteTrait] + unsafeBitCast(words.3, to: [any SuiteTrait].self)
        return withExtendedLifetime(traits) {
          words.3 = unsafeBitCast(traits, to: UInt.self)
          return original(words)
        }
      }
      let traits = [trait! as any TestTrait] + unsafeBitCast(words.6, to: [any TestTrait].self)
      return withExtendedLifetime(traits) {
        words.6 = unsafeBitCast(traits, to: UInt.self)
        return original(words)
      }
    }
  }
#endif
