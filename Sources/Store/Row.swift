/// A row while it is read: columns count from 0, and have the types of their strict table.
public struct Row: ~Copyable {
  private let statement: Statement

  init(_ statement: Statement) {
    self.statement = statement
  }

  public func isNull(_ column: Int) -> Bool { statement.isNull(column) }
  public func integer(_ column: Int) -> Int { Int(statement.integer(column)) }
  public func flag(_ column: Int) -> Bool { statement.integer(column) != 0 }
  public func real(_ column: Int) -> Double { statement.real(column) }

  public func text(_ column: Int) -> String {
    statement.withBytes(column) { String(decoding: $0, as: UTF8.self) }
  }

  public func bytes(_ column: Int) -> [UInt8] { statement.withBytes(column) { Array($0) } }

  /// Reads bytes without a copy; they are valid within the body.
  public func withBytes<Result>(_ column: Int, _ body: (RawSpan) throws -> Result) rethrows -> Result {
    try statement.withBytes(column) { try body($0.bytes) }
  }
}
