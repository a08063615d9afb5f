package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"remit/internal/contract"
)

// configFile is remit.yaml: a value for each setting, and the operator's rules.
type configFile struct {
	settings map[string]string
	tools    map[string]contract.Tightening
}

// schemes are what the settings begin with that say where something is kept, or sent.
var schemes = []struct{ key, beneath string }{
	{"data", ""}, {"database", "sqlite://"}, {"books", folderScheme}, {"public_url", ""}, {"embeddings", ""},
}

// staysBeneath refuses a file that came with the workspace and would have Remit
// write elsewhere, or send callers with their uploads there: whoever owns the machine
// says so with a flag.
func (f *configFile) staysBeneath(root string) error {
	for _, s := range schemes {
		places := []string{f.settings[s.key]}
		if s.key == "books" {
			places = splitList(f.settings[s.key])
		}
		for _, place := range places {
			if !isBeneath(root, strings.TrimPrefix(place, s.beneath)) {
				set := setting{key: s.key}
				return fmt.Errorf("%s leads out of the workspace; set it with --%s or %s instead", s.key, set.flag(), set.variable())
			}
		}
	}
	return nil
}

func isBeneath(root, place string) bool {
	if place == "" || strings.HasPrefix(place, "DATA/") && filepath.IsLocal(place) {
		return true // not set, or in the data folder, which is judged itself
	}
	if strings.Contains(place, "://") { // a server
		return false
	}
	place = within(place, "ROOT/", root+"/")
	if !filepath.IsAbs(place) {
		place = filepath.Join(root, place)
	}
	beneath, err := filepath.Rel(root, place)
	return err == nil && filepath.IsLocal(beneath)
}

// maxConfig and maxBrackets keep a hostile file from costing more than a look.
const (
	maxConfig   = 64 << 10
	maxBrackets = 500
)

// readFile reads a configuration file: regular, no link unless it was asked for by
// name, and of a sane size.
func readFile(name string, asked bool) ([]byte, error) {
	info, err := os.Lstat(name)
	if err == nil && asked {
		info, err = os.Stat(name)
	}
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file; name it with --config if it is meant", name)
	case info.Size() > maxConfig:
		return nil, fmt.Errorf("%s is larger than %d bytes", name, maxConfig)
	}
	data, err := os.ReadFile(name)
	if err == nil && bytes.Count(data, []byte("["))+bytes.Count(data, []byte("{"))+bytes.Count(data, []byte("? ")) > maxBrackets {
		err = fmt.Errorf("%s is nested too deeply", name)
	}
	return data, err
}

// readConfig reads remit.yaml. Unknown keys fail: a misspelt one would otherwise
// be a setting that silently is not made.
func readConfig(name string, asked bool) (configFile, error) {
	file := configFile{settings: map[string]string{}}
	data, err := readFile(name, asked)
	if errors.Is(err, fs.ErrNotExist) && !asked {
		return file, nil
	}
	if err != nil {
		return file, fmt.Errorf("read the configuration: %w", err)
	}
	var raw map[string]any
	if err := yaml.Unmarshal(data, &raw); err != nil {
		return file, fmt.Errorf("read the configuration %s: %s", name, yaml.FormatError(err, false, false)) // without its text: it may not be ours
	}
	if file.tools, err = readRules(raw["tools"]); err != nil {
		return file, fmt.Errorf("%s: tools: %w", name, err)
	}
	delete(raw, "tools")
	for key, v := range raw {
		key = strings.ReplaceAll(key, "-", "_") // as the flags are spelt
		if !slices.Contains(settingKeys(), key) || key == "root" || key == "config" {
			return file, unknownKey(name, key)
		}
		if file.settings[key], err = scalar(v); err != nil {
			return file, fmt.Errorf("%s: %s: %w", name, key, err)
		}
	}
	return file, nil
}

// readRules reads the operator's rules for tools.
func readRules(raw any) (map[string]contract.Tightening, error) {
	if raw == nil {
		return nil, nil
	}
	data, err := yaml.Marshal(raw)
	if err != nil {
		return nil, err
	}
	var rules map[string]contract.Tightening
	if err := yaml.UnmarshalWithOptions(data, &rules, yaml.Strict()); err != nil {
		return nil, errors.New(yaml.FormatError(err, false, false))
	}
	return rules, nil
}

func unknownKey(name, key string) error {
	if key == "root" || key == "config" {
		return fmt.Errorf("%s: %s cannot be set in the file itself; use --%s", name, key, key)
	}
	known := append(settingKeys(), "tools")
	if near := contract.Nearest(key, known); near != "" {
		return fmt.Errorf("%s: unknown key %q; did you mean %q?", name, key, near)
	}
	return fmt.Errorf("%s: unknown key %q; known are %s", name, key, strings.Join(known, ", "))
}

func scalar(v any) (string, error) {
	switch v := v.(type) {
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = fmt.Sprint(v[i])
		}
		return strings.Join(parts, ","), nil
	case map[string]any, nil:
		return "", errors.New("must be a single value")
	default:
		return fmt.Sprint(v), nil
	}
}
