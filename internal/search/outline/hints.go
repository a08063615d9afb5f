package outline

import (
	"bytes"
	"path"
	"strings"
)

// hinted returns the language that a content indicates, or "".
func hinted(content []byte) string {
	for _, look := range []func([]byte) string{byShebang, byModeline, byStart} {
		if language := look(content); language != "" {
			return language
		}
	}
	return ""
}

// byStart recognises contents by an unambiguous beginning.
func byStart(content []byte) string {
	start := bytes.TrimLeft(bytes.TrimPrefix(content[:min(len(content), 512)], []byte("\xef\xbb\xbf")), " \t\r\n")
	lower := strings.ToLower(string(start[:min(len(start), 64)]))
	for _, s := range []struct{ prefix, language string }{
		{"<?php", "php"},
		{"<?xml", "xml"},
		{"<!doctype html", "html"},
		{"<html", "html"},
		{"<svg", "xml"},
		{"diff --git ", "diff"},
		{"#compdef", "shell"},
		{"#autoload", "shell"},
		{"# syntax=docker/", "dockerfile"},
		{"-----begin ", "text"},
	} {
		if strings.HasPrefix(lower, s.prefix) {
			return s.language
		}
	}
	return ""
}

// byShebang returns the language of the interpreter in a #! line.
func byShebang(content []byte) string {
	line, _, _ := bytes.Cut(content[:min(len(content), 256)], []byte("\n"))
	rest, ok := strings.CutPrefix(string(line), "#!")
	if !ok {
		return ""
	}
	words := strings.Fields(rest)
	if len(words) > 0 && path.Base(words[0]) == "env" {
		words = words[1:]
		for len(words) > 0 && (strings.HasPrefix(words[0], "-") || strings.Contains(words[0], "=")) {
			words = words[1:]
		}
	}
	if len(words) == 0 {
		return ""
	}
	return called(strings.TrimRight(path.Base(words[0]), "0123456789.-"))
}

// called returns a language by its name, another common name, or an extension.
func called(name string) string {
	name = strings.ToLower(name)
	if language, ok := otherNames()[name]; ok {
		return language
	}
	if allLanguages()[name] {
		return name
	}
	return extensions()[name]
}

// byModeline reads the modelines of emacs, in the first two lines, and of vim, in the first or last
// five.
func byModeline(content []byte) string {
	head, tail := firstLines(content, 5), lastLines(content, 5)
	for i, line := range append(head, tail...) {
		if i < 2 && i < len(head) {
			if language := emacsMode(line); language != "" {
				return language
			}
		}
		if language := vimMode(line); language != "" {
			return language
		}
	}
	return ""
}

// maxModeline is the maximum length of a line that is searched for a modeline.
const maxModeline = 512

func firstLines(content []byte, n int) []string {
	var lines []string
	for len(lines) < n && len(content) > 0 {
		line, rest, _ := bytes.Cut(content, []byte("\n"))
		lines = append(lines, string(line[:min(len(line), maxModeline)]))
		content = rest
	}
	return lines
}

func lastLines(content []byte, n int) []string {
	content = bytes.TrimSuffix(content, []byte("\n"))
	var lines []string
	for len(lines) < n && len(content) > 0 {
		cut := bytes.LastIndexByte(content, '\n')
		line := content[cut+1:]
		lines = append(lines, string(line[:min(len(line), maxModeline)]))
		content = content[:max(cut, 0)]
	}
	return lines
}

// emacsMode parses -*- mode: ruby -*- and -*- C++ -*-.
func emacsMode(line string) string {
	_, rest, ok := strings.Cut(line, "-*-")
	setting, _, closed := strings.Cut(rest, "-*-")
	if !ok || !closed {
		return ""
	}
	for part := range strings.SplitSeq(setting, ";") {
		key, value, named := strings.Cut(part, ":")
		if !named && !strings.Contains(setting, ":") {
			return called(strings.TrimSpace(part))
		}
		if strings.EqualFold(strings.TrimSpace(key), "mode") {
			return called(strings.TrimSpace(value))
		}
	}
	return ""
}

// vimMode parses vim: set ft=python: and its variants.
func vimMode(line string) string {
	at := strings.Index(line, "vim:")
	if at < 0 {
		at = strings.Index(line, "vi:")
	}
	if at < 0 {
		return ""
	}
	options := strings.FieldsFunc(line[at:], func(r rune) bool { return r == ' ' || r == ':' || r == '\t' })
	for _, option := range options {
		key, value, _ := strings.Cut(option, "=")
		if key == "ft" || key == "filetype" || key == "syntax" {
			return called(value)
		}
	}
	return ""
}
