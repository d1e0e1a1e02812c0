import Foundation

#if canImport(FoundationXML)
  import FoundationXML
#endif

/// An element of a parsed XML text.
package final class ParsedElement: NSObject, XMLParserDelegate {
  package let name: String
  package let attributes: [String: String]
  package private(set) var children: [ParsedElement] = []
  package private(set) var text = ""

  private var open: [ParsedElement] = []

  private init(_ name: String, _ attributes: [String: String] = [:]) {
    self.name = name
    self.attributes = attributes
  }

  package struct Malformed: Error, CustomStringConvertible {
    package var description: String
  }

  package static func parse(_ text: String) throws -> ParsedElement {
    let root = ParsedElement("")
    root.open = [root]
    let parser = XMLParser(data: Data(text.utf8))
    parser.delegate = root
    guard parser.parse(), let first = root.children.first else {
      throw Malformed(description: "\(parser.parserError as Any) in line \(parser.lineNumber)")
    }
    return first
  }

  package func number(_ attribute: String) -> Double? { attributes[attribute].flatMap(Double.init) }

  /// Returns all descendants with a name, in order.
  package func all(_ name: String) -> [ParsedElement] {
    children.flatMap { ($0.name == name ? [$0] : []) + $0.all(name) }
  }

  package func parser(
    _ parser: XMLParser, didStartElement name: String, namespaceURI: String?,
    qualifiedName: String?, attributes: [String: String]
  ) {
    let element = ParsedElement(name, attributes)
    open[open.count - 1].children.append(element)
    open.append(element)
  }

  package func parser(
    _ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?
  ) {
    open.removeLast()
  }

  package func parser(_ parser: XMLParser, foundCharacters text: String) {
    open[open.count - 1].text += text
  }
}
