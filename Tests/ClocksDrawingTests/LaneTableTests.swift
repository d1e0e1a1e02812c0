import Testing

@testable import ClocksDrawing

@Suite struct LaneTableTests {
  private typealias Row = LaneTable.Row

  /// Two tasks and an actor.
  private let cache = LaneTable(
    lanes: ["\"a\"", "\"b\"", "ImageCache"],
    rows: [
      Row(time: "0 s", [0: "image(for:)", 2: "miss"], arrow: (0, 2)),
      Row(
        time: "0 s", [1: "image(for:)", 2: "miss"], arrow: (1, 2),
        remark: "◀ decision 17"),
      Row(time: "1 s", [0: "stores", 2: "store"], arrow: (0, 2)),
    ])

  @Test func rowsStandInLanes() {
    #expect(
      cache.lines() == [
        #"time  "a"             "b"             ImageCache"#,
        #"0 s   image(for:) ─────────────────▶  miss"#,
        #"0 s                   image(for:) ─▶  miss        ◀ decision 17"#,
        #"1 s   stores ──────────────────────▶  store"#,
      ])
  }

  @Test func arrowsCanPointToTheLeft() {
    let table = LaneTable(
      lanes: ["test", "poller", "cache"],
      rows: [
        Row(time: "0 s", [0: "resumed", 2: "has it"], arrow: (2, 0)),
        Row(time: "1 s", [2: "wakes"], arrow: (2, 1)),
      ])
    #expect(
      table.lines() == [
        "time  test        poller  cache",
        "0 s   resumed ◀────────── has it",
        "1 s               ◀────── wakes",
      ])
  }

  @Test func spacesSetTextsApartFromAnArrow() {
    let table = LaneTable(
      lanes: ["a", "b", "c"],
      rows: [
        Row(time: "0 s", [0: "sends", 1: "sees", 2: "gets it"], arrow: (0, 2)),
        Row(time: "1 s", [1: "wide enough"]),
      ])
    #expect(
      table.lines() == [
        "time  a         b            c",
        "0 s   sends ─── sees ─────▶  gets it",
        "1 s             wide enough",
      ])
  }

  @Test func rowsWithoutCells() {
    let table = LaneTable(lanes: ["a"], rows: [Row(time: "86,400 s"), Row(time: "1 s", [0: "x"])])
    #expect(table.lines() == ["time      a", "86,400 s", "1 s       x"])
    #expect(LaneTable(lanes: []).lines() == ["time"])
    #expect(
      LaneTable(lanes: [], rows: [Row(time: "1 s", remark: "end")]).lines() == [
        "time", "1 s   end",
      ])
  }

  @Test func emptyLanesAreLeftOut() {
    let table = LaneTable(
      lanes: ["a", "b", "c"], rows: [Row(time: "0 s", [0: "x"]), Row(time: "0 s", [2: "y"])])
    #expect(table.lines() == ["time  a  c", "0 s   x", "0 s      y"])
  }

  @Test func cellsOfMissingLanesAreLeftOut() {
    let table = LaneTable(
      lanes: ["a"],
      rows: [Row(time: "0 s", [0: "x", 7: "y", -1: "z"], arrow: (0, 7))])
    #expect(table.lines() == ["time  a", "0 s   x"])
  }

  // MARK: - Too little room

  @Test func noLineIsWiderThanTheLimit() {
    let names = (0..<9).map { "the task of number \($0) 🐢" }
    var rows = (0..<60).map { number in
      Row(
        time: "\(number).123456789 s", [number % 9: String(repeating: "語", count: number)],
        arrow: (number % 9, number % 4),
        remark: String(repeating: "!", count: number))
    }
    rows[59].cells[8] = "both"
    let table = LaneTable(lanes: names, rows: rows)
    for width in stride(from: 40, through: 200, by: 7) {
      let lines = table.lines(width: width)
      #expect(lines.count == 40)
      #expect(lines.allSatisfy { $0.columns <= width }, "\(lines.joined(separator: "\n"))")
    }
  }

  @Test func theWidestLanesAreCutFirst() {
    let table = LaneTable(
      lanes: ["a task with a very long name indeed", "b"],
      rows: [
        Row(
          time: "0 s", [0: "says something that is rather long", 1: "and gets it"],
          arrow: (0, 1)),
        Row(time: "1 s", [1: "ok"], arrow: (1, 0)),
      ])
    #expect(
      table.lines(width: 44) == [
        "time  a task with a very long …  b",
        "0 s   says something that i… ─▶  and gets it",
        "1 s   ◀───────────────────────── ok",
      ])
  }

  @Test func lanesWithoutRoomShareTheLast() {
    let rows =
      (0..<6).map { Row(time: "0 s", [$0: "starts"]) } + [
        Row(time: "1 s", [1: "wakes"], arrow: (5, 1)),
        Row(time: "1 s", [3: "wakes", 4: "wakes"], arrow: (3, 4)),
        Row(time: "2 s", [5: "ends"]),
      ]
    let table = LaneTable(lanes: (0..<6).map { "task \($0)" }, rows: rows)
    #expect(
      table.lines(width: 40) == [
        "time  task 1    task 5  others",
        "0 s                     task 0: starts",
        "0 s   starts",
        "0 s                     task 2: starts",
        "0 s                     task 3: starts",
        "0 s                     task 4: starts",
        "0 s             starts",
        "1 s   wakes ◀──",
        "1 s                     task 3: wakes, …",
        "2 s             ends",
      ])
  }

  @Test func theFirstRowsAreLeftOut() {
    let rows = (0..<2_000).map { Row(time: "\($0) s", [0: "x"]) }
    let table = LaneTable(lanes: ["a"], rows: rows)
    #expect(
      table.lines(limit: 5) == [
        "time    a", "… 1,997 earlier events", "1997 s  x", "1998 s  x", "1999 s  x",
      ])
    #expect(LaneTable(lanes: ["a"], rows: Array(rows.prefix(4))).lines(limit: 5).count == 5)
    #expect(
      LaneTable(lanes: ["a"], rows: Array(rows.prefix(5))).lines(limit: 5)[1]
        == "… 2 earlier events")
    #expect(LaneTable(lanes: ["a"], rows: Array(rows.prefix(3))).lines(limit: -1).count == 3)
  }

  /// If each lane were compared with each row, this would take minutes.
  @Test(.timeLimit(.minutes(10))) func manyRowsOfManyLanesTakeLittleTime() {
    let rows = (0..<40_000).map { Row(time: "0 s", [$0: "x"]) }
    let table = LaneTable(lanes: rows.indices.map { "task \($0)" }, rows: rows)
    let lines = table.lines(width: 40, limit: .max)
    #expect(lines.count == 40_001)
    #expect(lines[0] == "time  task 0  task 1  others")
    #expect(lines[40_000] == "0 s                   task 39999: x")
  }

  // MARK: - Characters

  @Test func controlCharactersAreReplaced() {
    let table = LaneTable(
      lanes: ["a\u{1B}[31m"], rows: [Row(time: "0 s", [0: "x\r\ny\t\u{202E}z\u{2028}\u{7F}"])])
    #expect(table.lines() == ["time  a␛[31m", "0 s   x␍␊y␉z␤␡"])
  }

  @Test func wideCharactersTakeTwoColumns() {
    let table = LaneTable(
      lanes: ["👩‍👩‍👧", "日本"],
      rows: [Row(time: "0 s", [0: "é", 1: "x"]), Row(time: "0 s", [0: "日本語", 1: "👍🏽"])])
    #expect(table.lines() == ["time  👩‍👩‍👧      日本", "0 s   é       x", "0 s   日本語  👍🏽"])
    #expect("日本語".cut(to: 5) == "日本…")
    #expect("日本語".cut(to: 4) == "日…")
    #expect("日本語".cut(to: 0) == "")
    #expect("日本語".cut(to: 6) == "日本語")
  }
}
