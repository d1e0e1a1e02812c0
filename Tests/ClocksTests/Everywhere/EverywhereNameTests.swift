import Testing

@testable import Clocks

@Suite struct EverywhereNameTests {
  @Test(arguments: [
    "Shop", "Shop.Cart", "Cart", "Cart/total", "total", "Shop.Cart/total(of:)", "Cart/total(of:)",
  ])
  func aTestIsNamedByAPartOfItsName(_ pattern: String) {
    #expect(EverywhereSettings.names(pattern, "Shop.Cart/total(of:)"))
  }

  @Test(arguments: [
    "", ".", "Car", "tot", "Shop.total", "total/Cart", "Cart/total(of:)/x", "total()",
    "Cart/total(for:)", "Shop.Cart/total(of:in:)",
  ])
  func aTestIsNotNamedByAnotherName(_ pattern: String) {
    #expect(!EverywhereSettings.names(pattern, "Shop.Cart/total(of:)"))
  }

  @Test func aNameMayHaveAnyCharacters() {
    let name = "Shop.Cart/`adds 1.5 (of 2)`()"
    for pattern in [name, "`adds 1.5 (of 2)`", "Cart/`adds 1.5 (of 2)`()"] {
      #expect(EverywhereSettings.names(pattern, name))
    }
    #expect(!EverywhereSettings.names("`adds 1.5 (of 3)`", name))
    #expect(EverywhereSettings.names("testTotal", "ShopTests.Cart/testTotal"))
  }
}
