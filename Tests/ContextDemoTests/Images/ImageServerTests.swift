import Foundation
import Testing

@testable import ContextDemo

/// Tests the network layer with each kind of answer.
@Suite struct ImageServerTests {
  private func details(of id: String, from stub: StubServer) async throws -> ImageDetails {
    try await ImageServer(url: stub.url, http: stub.http).details(of: id)
  }

  @Test func requestsTheImageAndParsesTheAnswer() async throws {
    let stub = StubServer { _ in
      .init(body: Data(#"{"id": "123", "title": "Sunrise", "width": 640, "height": 480}"#.utf8))
    }
    let details = try await details(of: "123", from: stub)
    #expect(details == ImageDetails(id: "123", title: "Sunrise", width: 640, height: 480))
    #expect(
      await stub.requests.first(1)
        == [.init(method: "GET", path: "/images/123", query: nil, body: Data())])
  }

  @Test func missingImage() async {
    let stub = StubServer { _ in .init(status: 404) }
    await #expect(throws: HTTPError(status: 404)) { try await details(of: "123", from: stub) }
  }

  @Test(arguments: ["", "[]", "{}", #"{"id": "123"}"#])
  func invalidAnswer(_ answer: String) async {
    let stub = StubServer { _ in .init(body: Data(answer.utf8)) }
    await #expect(throws: DecodingError.self) { try await details(of: "123", from: stub) }
  }

  @Test func answerWithAnotherImage() async {
    let stub = StubServer { _ in
      .init(body: Data(#"{"id": "456", "title": "", "width": 0, "height": 0}"#.utf8))
    }
    await #expect(throws: ImageError.wrongImage("456")) { try await details(of: "123", from: stub) }
  }
}
