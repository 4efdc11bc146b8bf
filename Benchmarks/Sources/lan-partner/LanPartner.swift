/// One host in a process of its own, that does what it is told: a command a line, and for each a line with what came of it.
internal import Glibc

@main
enum LanPartner {
  static func main() async {
    let partner = Partner()
    while let line = readLine() {
      do {
        print("done", try await partner.obey(line.split(separator: " ").map(String.init)))
      } catch {
        print("failed", error)
      }
      fflush(nil)
    }
    await partner.leave()
  }
}
