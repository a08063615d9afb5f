package app

// ignoreWriteSignals has nothing to do: Windows has no such signals.
func ignoreWriteSignals() {}
