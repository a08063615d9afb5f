import SwiftUI

/* nested /* func no() {} */ */
protocol Drawable: AnyObject {
    func draw(in rect: CGRect) -> Bool
    var size: Int { get }
}

struct ContentView: View {
    @State private var open = false
    var body: some View {
        Text("it's \(open ? "}" : "{")")
    }
    init(open: Bool) { self.open = open }
    static func make<T>(_ x: T) -> ContentView where T: Drawable {
        ContentView(open: true)
    }
}

extension String {
    func shout() -> String { uppercased() }
}
enum Kind: Int { case a, b }
typealias Pair = (Int, Int)
func top() async throws {}
