package imports

import "testing"

func TestScalaExtract(t *testing.T) {
	extracts(t, extractScala, `/* import not.This /* nested */ */
package com.acme
package app

import com.acme.core.Store, com.acme.core.Other
import com.acme.model.{User, Role => R, Kind as K}
import com.acme.util._
import com.acme.more.*
import com.acme.deep.{A, _}
import _root_.com.acme.Top
import com.acme.{
  One, // import not.This
  given
}
object Main { import too.Late }
`, "2|2|com.acme", "3|2|com.acme.app", "5|0|com.acme.core.Store", "5|0|com.acme.core.Other", "6|0|com.acme.model.User",
		"6|0|com.acme.model.Role", "6|0|com.acme.model.Kind", "7|1|com.acme.util", "8|1|com.acme.more", "9|0|com.acme.deep.A",
		"9|1|com.acme.deep", "10|0|com.acme.Top", "12|0|com.acme.One")
	refuses(t, extractScala, "import a.B\n/* open\nimport a.C", 2)
}

func TestScalaFiles(t *testing.T) {
	files := memory{
		"core/build.sbt": "",
		"core/src/main/scala/com/acme/core/Store.scala": "package com.acme.core\nclass Store\n",
		"core/src/main/scala/com/acme/core/Types.scala": "package com.acme.core\nsealed trait Shape\ncase class Round(r: Int) extends Shape\n",
		"core/src/main/java/com/acme/core/Old.java":     "",
		"app/src/main/scala/com/acme/app/Main.scala": "package com.acme.app\nimport com.acme.core.{Store, Round, Old, Gone}\n" +
			"import com.acme.app.util._\nimport scala.util.Try\n",
		"app/src/main/scala/com/acme/app/util/Text.scala": "package com.acme.app.util\n",
	}
	check(t, files, "scala", []importing{{"main", "app/src/main/scala/com/acme/app/Main.scala", []string{
		"core/src/main/scala/com/acme/core/Store.scala", "core/src/main/scala/com/acme/core/Types.scala",
		"core/src/main/java/com/acme/core/Old.java", "app/src/main/scala/com/acme/app/util/Text.scala",
	}}})
}

func FuzzScala(f *testing.F) {
	fuzzes(f, "scala", "package a\nimport b.{C, D => E, _}\nimport f._, g.h", "import {", "import a.{")
}
