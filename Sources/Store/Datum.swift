/// An SQLite value.
public enum Datum: Sendable {
  case null
  case integer(Int64)
  case real(Double)
  case text(String)
  case blob([UInt8])
}

/// A type that can be bound to a statement's parameter.
public protocol Bindable {
  var datum: Datum { get }
}

extension Int: Bindable {
  public var datum: Datum { .integer(Int64(self)) }
}

extension Int64: Bindable {
  public var datum: Datum { .integer(self) }
}

extension Bool: Bindable {
  public var datum: Datum { .integer(self ? 1 : 0) }
}

extension Double: Bindable {
  public var datum: Datum { .real(self) }
}

extension String: Bindable {
  public var datum: Datum { .text(self) }
}

extension [UInt8]: Bindable {
  public var datum: Datum { .blob(self) }
}

extension Optional: Bindable where Wrapped: Bindable {
  public var datum: Datum { self?.datum ?? .null }
}
