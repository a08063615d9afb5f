package bookstest

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"net/url"
	"path"
	"strconv"
	"strings"
	"testing/fstest"
	"time"
)

// Course generates the folder of a course as authors write it: Markdown lessons in parts and
// chapters, with front matter, code, tables, pictures and links to each other, and names with
// spaces and accents. It does not have the layout of a book. The same seed yields the same course;
// no link in it is broken.
func Course(seed uint64, lessons int) fstest.MapFS {
	c := &course{MapFS: fstest.MapFS{}, Rand: rand.New(rand.NewPCG(seed, 3))} //nolint:gosec // reproducible randomness
	for n := range lessons {
		c.names = append(c.names, lessonName(n))
	}
	var contents strings.Builder
	for n, name := range c.names {
		c.put(name, c.lesson(n))
		fmt.Fprintf(&contents, "%d. [%s](%s)\n", n+1, topic(n), escaped(name))
	}
	for n := 0; n < lessons; n += lessonsInChapter {
		c.put(picture(n), c.draw())
	}
	c.put("README.md", "# Python for Agents\n\nA course of "+strconv.Itoa(lessons)+" lessons. ![The cover](images/cover%20page.png)\n\n## Contents\n\n"+contents.String())
	c.put("images/cover page.png", c.draw())
	c.put("slides/Opening talk.pptx", "PK\x03\x04"+c.noise(4096))
	c.put("audio/Interview é.mp3", "ID3\x04"+c.noise(4096))
	c.put("code/agents/main.py", "def main():\n    print(\"hello\")\n")
	c.put("appendix/Glossary & Notes.md", "# Glossary\n\nListen to [the interview](../audio/Interview%20%C3%A9.mp3), see [the talk](<../slides/Opening talk.pptx>).\n")
	c.put(".git/config", "[core]\n")
	c.put("images/.DS_Store", "\x00")
	return c.MapFS
}

const (
	lessonsInChapter  = 10
	chaptersInPart    = 5
	paragraphsAtLeast = 8
)

// course is a course under construction.
type course struct {
	fstest.MapFS
	*rand.Rand
	names []string
}

func (c *course) put(name, text string) {
	c.MapFS[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644, ModTime: time.Date(2025, 11, 24, 12, 0, 0, 0, time.UTC)}
}

func words() []string {
	return strings.Fields("agent model token context tool schema prompt memory retrieval vector index latency cache stream function class method " +
		"variable loop branch exception test fixture module package import library thread process queue event handler server client request " +
		"response header payload contract error retry timeout deadline storage bucket object version hash digest lesson chapter exercise answer " +
		"reads writes calls returns keeps builds checks learns compares measures explains the a one every another this simple careful useful small")
}

func topic(n int) string {
	all := words()
	return "The " + all[n%len(all)] + " and the " + all[(n*7+3)%len(all)]
}

func chapterFolder(n int) string {
	chapter := n / lessonsInChapter
	return fmt.Sprintf("part-%d/chapter-%02d", chapter/chaptersInPart+1, chapter+1)
}

// lessonName returns the file name of a lesson, spelt inconsistently as authors do.
func lessonName(n int) string {
	in := n%lessonsInChapter + 1
	switch n % 4 {
	case 0:
		return fmt.Sprintf("%s/%02d %s.md", chapterFolder(n), in, topic(n))
	case 1:
		return fmt.Sprintf("%s/lesson-%02d.md", chapterFolder(n), in)
	case 2:
		return fmt.Sprintf("%s/Lección %02d.md", chapterFolder(n), in)
	default:
		return fmt.Sprintf("%s/lesson_%02d.%s.md", chapterFolder(n), in, words()[n%20])
	}
}

// picture returns the path of the picture that the lessons of a chapter show.
func picture(n int) string { return chapterFolder(n) + "/images/diagram.png" }

// link returns the link to another lesson as a lesson writes it.
func (c *course) link(from, to string) string {
	up := strings.Repeat("../", strings.Count(from, "/"))
	if path.Dir(from) == path.Dir(to) {
		up, to = "", path.Base(to)
	}
	if c.IntN(2) == 0 && strings.Contains(to, " ") {
		return "<" + up + to + ">"
	}
	return up + escaped(to)
}

func escaped(name string) string { return (&url.URL{Path: name}).EscapedPath() }

func (c *course) lesson(n int) string {
	var b strings.Builder
	name := c.names[n]
	fmt.Fprintf(&b, "---\ntitle: %q\nlesson: %d\ntags: [%s, course]\nduration: %d min\n---\n\n# %s\n\n", topic(n), n+1, words()[n%20], 5+c.IntN(40), topic(n))
	fmt.Fprintf(&b, "![What it looks like](%s \"Figure %d\")\n\n", c.link(name, picture(n)), n+1)
	for range paragraphsAtLeast + c.IntN(20) {
		b.WriteString(c.paragraph())
	}
	fmt.Fprintf(&b, "## In code\n\n```python\ndef lesson_%d(agent):\n    \"\"\"[not a link](missing.md)\"\"\"\n    return agent.call(%d)\n```\n\n", n, c.IntN(1000))
	b.WriteString("## What it costs\n\n| step | tokens | see |\n|---|---:|---|\n")
	for i := range 3 {
		other := c.names[c.IntN(len(c.names))]
		fmt.Fprintf(&b, "| %d | %d | [lesson](%s) |\n", i+1, c.IntN(5000), c.link(name, other))
	}
	b.WriteString("\n> Try it before you go on.[^1]\n\n[^1]: " + c.sentence() + "\n\n## Where to go\n\n- [Above](#in-code)\n")
	if n > 0 {
		fmt.Fprintf(&b, "- [Before](%s)\n", c.link(name, c.names[n-1]))
	}
	if n+1 < len(c.names) {
		b.WriteString("- [Next][next]\n\n[next]: " + c.link(name, c.names[n+1]) + "\n")
	}
	return b.String()
}

func (c *course) paragraph() string {
	var b strings.Builder
	if c.IntN(4) == 0 {
		b.WriteString("### " + c.sentence() + "\n\n")
	}
	for range 2 + c.IntN(6) {
		b.WriteString(c.sentence() + " ")
	}
	return strings.TrimSpace(b.String()) + "\n\n"
}

func (c *course) sentence() string {
	all := words()
	said := make([]string, 5+c.IntN(12))
	for i := range said {
		said[i] = all[c.IntN(len(all))]
	}
	if c.IntN(6) == 0 {
		said[2] = "`" + said[2] + "()`"
	}
	text := strings.Join(said, " ")
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

// draw returns a unique picture.
func (c *course) draw() string {
	img := image.NewRGBA(image.Rect(0, 0, 32, 32))
	for i := range 32 * 32 {
		img.Set(i%32, i/32, color.RGBA{uint8(c.IntN(256)), uint8(i), uint8(i / 4), 255})
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		panic(err) // cannot happen when writing to memory
	}
	return b.String()
}

func (c *course) noise(n int) string {
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(c.Uint32())
	}
	return string(data)
}
