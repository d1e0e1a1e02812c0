@main
struct ContextDemo {
  static func main() async {}
}
