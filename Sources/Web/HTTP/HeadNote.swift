/// Where a handler keeps what it made of a head, for when the connection says it again.
package final class HeadNote {
  package var content: AnyObject?
}
