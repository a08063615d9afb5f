package app

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// lastBackupFile is the file of the data folder that says when the last backup was made.
const lastBackupFile = "last-backup"

// lastBackup is the content of that file.
type lastBackup struct {
	Time time.Time `json:"time"`
}

// NoteBackup stores that a backup was made, for "remit status" and the metrics.
func (a *App) NoteBackup(at time.Time) error {
	text, err := json.Marshal(lastBackup{at.UTC()})
	if err != nil {
		return fmt.Errorf("note the backup: %w", err)
	}
	file, err := (preparedFiles{a.process.data, ""}).OpenAppend(lastBackupFile)
	if err != nil {
		return fmt.Errorf("note the backup: %w", err)
	}
	defer file.Close()
	if err = file.Truncate(0); err == nil {
		_, err = file.Write(append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("note the backup: %w", err)
	}
	return nil
}

// lastBackup returns when the last backup was made; the zero time if that is not known.
func (a *App) lastBackup() time.Time {
	text, err := os.ReadFile(filepath.Join(a.settings.Data, lastBackupFile))
	var last lastBackup
	if err != nil || json.Unmarshal(text, &last) != nil {
		return time.Time{}
	}
	return last.Time
}
