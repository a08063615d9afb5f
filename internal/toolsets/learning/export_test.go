package learning

// For tests.
var (
	ExtentOf    = extentOf
	LastLines   = lastLines
	ParseExtent = parseExtent
)
