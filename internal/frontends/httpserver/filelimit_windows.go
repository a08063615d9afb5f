package httpserver

// openFileLimit returns how many files the process may open. Windows has no such limit.
func openFileLimit() int64 { return 2 * maxConnections }
