package app

// ignoreWriteSignals does nothing: Windows has no such signals.
func ignoreWriteSignals() {}

// onHangup does nothing: Windows has no such signal.
func onHangup(func()) {}
