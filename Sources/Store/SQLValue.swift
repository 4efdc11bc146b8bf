/// An SQLite value.
public enum SQLValue: Sendable {
  case null
  case integer(Int64)
  case real(Double)
  case text(String)
  case blob([UInt8])
}

/// A type that can be bound to a statement's parameter.
public protocol Bindable {
  var sqlValue: SQLValue { get }
}

extension Int: Bindable {
  public var sqlValue: SQLValue { .integer(Int64(self)) }
}

extension Int64: Bindable {
  public var sqlValue: SQLValue { .integer(self) }
}

extension Bool: Bindable {
  public var sqlValue: SQLValue { .integer(self ? 1 : 0) }
}

extension Double: Bindable {
  public var sqlValue: SQLValue { .real(self) }
}

extension String: Bindable {
  public var sqlValue: SQLValue { .text(self) }
}

extension [UInt8]: Bindable {
  public var sqlValue: SQLValue { .blob(self) }
}

extension Optional: Bindable where Wrapped: Bindable {
  public var sqlValue: SQLValue { self?.sqlValue ?? .null }
}
