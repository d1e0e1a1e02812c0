import ClocksDrawing

enum JSONValue: Sendable {
  case text(String)
  case number(Double)
  case integer(Int)
  case flag(Bool)
  case list([JSONValue])
  case object([(String, JSONValue)])

  static func texts(_ texts: [String]) -> Self { .list(texts.map(Self.text)) }

  var json: String {
    switch self {
    case .text(let text): text.quoted
    case .number(let number): number.isFinite ? "\(number)" : "0"
    case .integer(let number): "\(number)"
    case .flag(let flag): "\(flag)"
    case .list(let values): "[" + values.map(\.json).joined(separator: ",") + "]"
    case .object(let fields):
      "{" + fields.map { "\($0.0.quoted):\($0.1.json)" }.joined(separator: ",") + "}"
    }
  }
}
