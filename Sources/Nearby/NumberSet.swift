internal import Engine

/// A set of small numbers, a bit for each: the engine's, for programs of this package.
package struct NumberSet: Hashable, Sendable {
  private var numbers: SlotSet

  package init() { numbers = SlotSet() }
  package init(_ number: Int) { numbers = SlotSet(number) }
  private init(_ numbers: SlotSet) { self.numbers = numbers }

  package var isEmpty: Bool { numbers.isEmpty }
  /// The number of a set of one.
  package var only: Int? { numbers.only }
  package func contains(_ number: Int) -> Bool { numbers.contains(number) }
  package mutating func insert(_ number: Int) { numbers.insert(number) }
  package mutating func remove(_ number: Int) { numbers.remove(number) }
  package func intersection(_ other: NumberSet) -> NumberSet { NumberSet(numbers.intersection(other.numbers)) }
  package mutating func formUnion(_ other: NumberSet) { numbers.formUnion(other.numbers) }
  package mutating func subtract(_ other: NumberSet) { numbers.subtract(other.numbers) }
  /// In ascending order.
  package func forEach(_ body: (Int) -> Void) { numbers.forEach(body) }
}
