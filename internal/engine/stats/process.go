package stats

import (
	"bytes"
	"io/fs"
	"os"
	"strconv"
)

// Process is what Linux tells of a process.
type Process struct {
	Known        bool    // the next three are there
	User, System float64 // seconds
	Resident     int64   // bytes
	OpenFiles    int     // -1 if not known
}

// ReadProcess reads the folder of a process beneath /proc. Systems without one
// tell nothing.
func ReadProcess(folder fs.FS) Process {
	p := Process{OpenFiles: -1}
	if open, err := fs.ReadDir(folder, "fd"); err == nil {
		p.OpenFiles = len(open) - 1 // without the one that read the folder
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

func (p *Process) readStat(text []byte) {
	// The name stands in parentheses and may hold any character, those too.
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) <= residentPages {
		return
	}
	var numbers [3]int64
	for i, at := range [...]int{userTicks, systemTicks, residentPages} {
		n, err := strconv.ParseInt(string(fields[at]), 10, 64)
		if err != nil || n < 0 {
			return
		}
		numbers[i] = n
	}
	p.Known = true
	p.User, p.System = float64(numbers[0])/ticksPerSecond, float64(numbers[1])/ticksPerSecond
	p.Resident = numbers[2] * int64(os.Getpagesize())
}
