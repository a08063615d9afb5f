package app

// ignoreWriteSignals does nothing: Windows has no such signals.
func ignoreWriteSignals() {}
