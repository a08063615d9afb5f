package learning

// For tests.
var (
	ExtentOf    = extentOf
	ParseExtent = parseExtent
)
