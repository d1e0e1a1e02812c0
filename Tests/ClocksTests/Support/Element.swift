import Foundation

#if canImport(FoundationXML)
  import FoundationXML
#endif

/// An element of an XML text.
final class Element: NSObject, XMLParserDelegate {
  private(set) var name: String
  private(set) var attributes: [String: String]
  private(set) var children: [Element] = []
  private(set) var text = ""

  private var open: [Element] = []

  private init(_ name: String, _ attributes: [String: String] = [:]) {
    self.name = name
    self.attributes = attributes
  }

  struct Malformed: Error, CustomStringConvertible {
    var description: String
  }

  static func parse(_ text: String) throws -> Element {
    let root = Element("")
    root.open = [root]
    let parser = XMLParser(data: Data(text.utf8))
    parser.delegate = root
    guard parser.parse(), let first = root.children.first else {
      throw Malformed(description: "\(parser.parserError as Any) in line \(parser.lineNumber)")
    }
    return first
  }

  func number(_ attribute: String) -> Double? { attributes[attribute].flatMap(Double.init) }

  /// Every element below with a name, in order.
  func all(_ name: String) -> [Element] {
    children.flatMap { ($0.name == name ? [$0] : []) + $0.all(name) }
  }

  func parser(
    _ parser: XMLParser, didStartElement name: String, namespaceURI: String?,
    qualifiedName: String?, attributes: [String: String]
  ) {
    let element = Element(name, attributes)
    open[open.count - 1].children.append(element)
    open.append(element)
  }

  func parser(
    _ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?
  ) {
    open.removeLast()
  }

  func parser(_ parser: XMLParser, foundCharacters text: String) {
    open[open.count - 1].text += text
  }
}
