package imports

import (
	"errors"
	"testing"
)

func TestPageImports(t *testing.T) {
	checkReadings(t, extractHTML, []reading{
		{"scripts and links", "<!-- <script src=x> -->\n<link rel=stylesheet href='a.css'/><script src=\"b.js\" defer></script>", "2 a.css link, 2 b.js link"},
		{"within", "<SCRIPT type=module>\nimport 'a'; '</b>'\n</SCRIPT><style>\n@import 'c'</style>", "2 a, 4 c style"},
		{"no scripts", "<script type='application/json'>{\"import\": 'x</script><script>let a = 'b</script><p title='<script src=x>'>", ""},
		{"unfinished", "<link href=a.css><link href='b", "1 a.css link"},
	})
	checkReadings(t, extractComponent, []reading{
		{
			"Vue", "<template src='./t.html'><a :b=\"c > d\">import 'x'</a></template>\n<script setup lang=\"ts\" generic=\"T extends A\">\nimport a from './a'\n</script>\n<style lang=scss src=./s.scss>\n@use 'b'; // it's\n</style>",
			"1 ./t.html link, 3 ./a, 5 ./s.scss link, 6 b style",
		},
		{"Svelte", "<script module>import 'a'</script><script lang='ts'>\nimport B from './B.svelte'</script>{#if a < b}<B on:click={() => c > d}/>{/if}", "1 a, 2 ./B.svelte"},
	})
	checkReadings(t, extractAstro, []reading{
		{"Astro", "---\nimport A from './A.astro'\n---\n<A b={c}>don't</A><script>import 'd'</script>", "2 ./A.astro, 4 d"},
		{"without a script", "<p>it's</p><style>@import 'a'</style>", "1 a style"},
	})
}

func TestPageSyntaxErrors(t *testing.T) {
	for text, extract := range map[string]func([]byte) ([]spec, error){
		"<template/>\n<script>\nlet a = 'b\n</script>": extractComponent,
		"---\n\n'a\n---\n": extractAstro,
	} {
		_, err := extract([]byte(text))
		var fault *SyntaxError
		if !errors.As(err, &fault) || *fault != (SyntaxError{3, "unterminated string"}) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestPageFiles(t *testing.T) {
	files := memory{
		"web/package.json":          `{}`,
		"web/index.html":            `<link href="/icon.svg"><link href="style.css"><script type=module src="/src/main.ts?x"></script><script src="https://a/b.js"></script>`,
		"web/public/icon.svg":       "",
		"web/style.css":             "",
		"web/src/main.ts":           "",
		"web/src/App.vue":           "<script>import Part from './Part.vue'; import use from './use'</script><style src='./app.css'/>",
		"web/src/Part.vue":          "",
		"web/src/use.ts":            "",
		"web/src/app.css":           "",
		"web/src/pages/deep.html":   `<script src="/style.css"></script>`,
		"web/src/pages/main.ts":     "",
		"web/src/pages/page.astro":  "---\nimport Other from './Other.astro'\n---\n<script src='main.ts'/>",
		"web/src/pages/Other.astro": "",
	}
	check(t, files, "html", []importing{
		{"page", "web/index.html", []string{"web/public/icon.svg", "web/style.css", "web/src/main.ts"}},
		{"page of a package", "web/src/pages/deep.html", []string{"web/style.css"}},
	})
	check(t, files, "vue", []importing{{"Vue", "web/src/App.vue", []string{"web/src/Part.vue", "web/src/use.ts", "web/src/app.css"}}})
	check(t, files, "astro", []importing{{"Astro", "web/src/pages/page.astro", []string{"web/src/pages/Other.astro", "web/src/pages/main.ts"}}})
}
