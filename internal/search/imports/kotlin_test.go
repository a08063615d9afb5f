package imports

import "testing"

func TestKotlinExtract(t *testing.T) {
	extracts(t, extractKotlin, `#!/usr/bin/env kotlin
/* outer /* inner */ import not.This */
@file:JvmName("Tools")
@file:[Suppress("x") OptIn(A::class)]
package com.acme.`+"`in`"+`.app

import com.acme.model.User
import com.acme.model.Role as Part // import not.This
import com.acme.util.*
import com.acme.`+"`object`"+`.x; import a.b
fun main() { import("x") }
import too.Late
`, "5|2|com.acme.in.app", "7|0|com.acme.model.User", "8|0|com.acme.model.Role", "9|1|com.acme.util", "10|0|com.acme.object.x",
		"10|0|a.b")
	refuses(t, extractKotlin, "import a.B\n/* open /* closed */\nimport a.C", 2)
}

func TestKotlinDeclares(t *testing.T) {
	for declaration, want := range map[string]bool{
		"fun helper() = 1": true,
		"internal inline fun <reified T : Any> helper(": true,
		"fun <T> List<Map<T, T>>.helper(x: Int) {}":     true,
		"fun String?.helper() {}":                       true,
		"@Deprecated(\"x\") public fun helper() {}":     true,
		"val helper by lazy { 1 }":                      true,
		"const val helper = 1":                          true,
		"val Foo.helper get() = 1":                      true,
		"sealed class helper":                           true,
		"data class helper(val x: Int)":                 true,
		"fun interface helper {":                        true,
		"companion object helper":                       true,
		"typealias helper = Int":                        true,
		"fun other(helper: Int) {}":                     false,
		"fun other() = helper()":                        false,
		"val other by helper":                           false,
		"fun helper.other() {}":                         false,
		"    fun helper() {}":                           false,
		"// fun helper()":                               false,
		"import a.helper":                               false,
		"class Other(helper: Int)":                      false,
		"fun helpers() {}":                              false,
	} {
		if got := declares("kotlin", []byte("package a\n"+declaration+"\n"), "", "helper"); got != want {
			t.Errorf("%q declares helper: %v", declaration, got)
		}
	}
}

func TestKotlinFiles(t *testing.T) {
	files := memory{
		"app/build.gradle.kts":                              "",
		"lib/build.gradle.kts":                              "",
		"app/src/main/kotlin/com/acme/app/Main.kt":          kotlinMain,
		"app/src/main/kotlin/com/acme/app/ui/Screens.kt":    "package com.acme.app.ui\nfun Home() {}\nsealed class Nav\n",
		"app/src/main/java/com/acme/app/Legacy.java":        "",
		"lib/src/commonMain/kotlin/com/acme/lib/Strings.kt": "package com.acme.lib\nfun String.shout() = uppercase()\nobject Loud { fun x() {} }\n",
		"lib/src/commonMain/kotlin/com/acme/lib/Other.kt":   "package com.acme.lib\n",
		"short/src/net/Client.kt":                           "package org.short.net\nimport org.short.data.Row\nimport org.short.data.parse\n",
		"short/src/data/Row.kt":                             "package org.short.data\nclass Row\nfun parse() {}\n",
	}
	check(t, files, "kotlin", []importing{
		{"main", "app/src/main/kotlin/com/acme/app/Main.kt", []string{
			"app/src/main/kotlin/com/acme/app/ui/Screens.kt", "app/src/main/java/com/acme/app/Legacy.java",
			"lib/src/commonMain/kotlin/com/acme/lib/Strings.kt", "lib/src/commonMain/kotlin/com/acme/lib/Other.kt",
		}},
		{"root package left out", "short/src/net/Client.kt", []string{"short/src/data/Row.kt"}},
	})
}

const kotlinMain = `package com.acme.app

import androidx.compose.runtime.Composable
import com.acme.app.ui.Home
import com.acme.app.ui.Nav.Back
import com.acme.app.Legacy
import com.acme.lib.shout
import com.acme.lib.Loud.x
import com.acme.lib.missing
import com.acme.lib.*
`

func FuzzKotlin(f *testing.F) { fuzzes(f, "kotlin", kotlinMain, "/*/*", "@file:[") }

// TestKotlinShortFolders: a project may omit the folders of the common prefix of its packages.
func TestKotlinShortFolders(t *testing.T) {
	files := memory{
		"app/build.gradle.kts":                       "",
		"app/src/main/kotlin/main.kt":                "package com.acme\n\nimport com.acme.help\nimport com.acme.util.*\nimport com.acme.util.deep.run\nimport com.other.run\n",
		"app/src/main/kotlin/helping.kt":             "package com.acme\n\nfun help() {}\n",
		"app/src/main/kotlin/util/u.kt":              "package com.acme.util\n",
		"app/src/main/kotlin/util/deep/running.kt":   "package com.acme.util.deep\n\nfun run() {}\n",
		"app/src/main/kotlin/com/other/elsewhere.kt": "package com.other\n\nfun run() {}\n",
	}
	check(t, files, "kotlin", []importing{{"", "app/src/main/kotlin/main.kt", []string{
		"app/src/main/kotlin/helping.kt", "app/src/main/kotlin/util/u.kt", "app/src/main/kotlin/util/deep/running.kt",
	}}})
}
