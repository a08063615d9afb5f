package telemetry

import (
	"bytes"
	"io/fs"
	"os"
	"strconv"
)

// process is what Linux tells of a process.
type process struct {
	known        bool // the next three are there
	user, system float64
	resident     int64
	openFiles    int // -1 if not known
}

// readProcess reads the folder of a process beneath /proc. Systems without one
// tell nothing.
func readProcess(folder fs.FS) process {
	p := process{openFiles: -1}
	if open, err := fs.ReadDir(folder, "fd"); err == nil {
		p.openFiles = len(open) - 1 // without the one that read the folder
	}
	if text, err := fs.ReadFile(folder, "stat"); err == nil {
		p.readStat(text)
	}
	return p
}

// Where the numbers stand in /proc/PID/stat after the name, by proc(5).
const (
	userTicks     = 14 - 3
	systemTicks   = 15 - 3
	residentPages = 24 - 3

	ticksPerSecond = 100 // of every Linux, as programs see it
)

func (p *process) readStat(text []byte) {
	// The name stands in parentheses and may hold any character, those too.
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) <= residentPages {
		return
	}
	var numbers [3]int64
	for i, at := range [...]int{userTicks, systemTicks, residentPages} {
		n, err := strconv.ParseInt(string(fields[at]), 10, 64)
		if err != nil {
			return
		}
		numbers[i] = n
	}
	p.known = true
	p.user, p.system = float64(numbers[0])/ticksPerSecond, float64(numbers[1])/ticksPerSecond
	p.resident = numbers[2] * int64(os.Getpagesize())
}
