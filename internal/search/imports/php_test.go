package imports

import "testing"

func TestPHPExtract(t *testing.T) {
	extracts(t, extractPHP, `use Not\This;
<html><?php // comment ?> use Not\This; <?php
namespace Acme\App;
use Acme\Core\Store, Acme\Core\Other as O;
use Acme\{Model\User, Model\Role as R, function deep,};
use function Acme\helper;
use const Acme\LIMIT;
use \Acme\Leading;
# use Not\This;
#[Attribute]
class A extends B {
	use NotATrait;
	function require() { $this->include('not'); A::require('not'); return fn() => 1; }
	function m() {
		$s = 'use Not\This; it\'s';
		$s = "{$a["require 'not.php'"]} require 'not.php'";
		$s = <<<EOT
		require 'not.php'; "
		EOTnot
		EOT . <<<'N'
require 'not.php';
N;
		REQUIRE_ONCE __DIR__ . '/a.php';
		include(dirname(__FILE__) . '/b.php');
		$x = include dirname(__DIR__, 2) . '/c.php';
		require \dirname(dirname(__FILE__)) . "/d.php";
		require 'e.php' ?>
	require 'not.php';
	<?= $x; require ('f.php');
		require "not-$x.php";
		require 'not' . $x;
		require $x . 'not';
		require __DIR__ . $x . 'not';
		require __FILE__ . 'not';
		switch ($x) { case 1: require 'g.php'; }
	}
}
$f = function () use ($x) {};
use Acme\Late;
/* use Not\This; */
`, "3|4|Acme\\App", "4|2|Acme\\Core\\Store", "4|2|Acme\\Core\\Other", "5|2|Acme\\Model\\User", "5|2|Acme\\Model\\Role",
		"5|3|Acme\\deep", "6|3|Acme\\helper", "7|3|Acme\\LIMIT", "8|2|Acme\\Leading", "23|1|a.php", "24|1|b.php",
		"25|1|../../c.php", "26|1|../d.php", "27|0|e.php", "29|0|f.php", "35|0|g.php", "39|2|Acme\\Late")
	extracts(t, extractPHP, "<?php namespace A { use B\\C; class D { use E; } } namespace F { use G\\H; }",
		"1|4|A", "1|2|B\\C", "1|4|F", "1|2|G\\H")
	extracts(t, extractPHP, "no code at all, it's /* text")
	refuses(t, extractPHP, "<?php\nrequire 'a.php';\n$x = 'open;\nrequire 'b.php';\n", 4)
	refuses(t, extractPHP, "<?php\n/* open\nrequire 'b.php';\n", 2)
	refuses(t, extractPHP, "<?php\n$x = <<<EOT\nrequire 'b.php';\n", 2)
}

func TestPHPFiles(t *testing.T) {
	files := memory{
		"composer.json": `{"autoload": {"psr-4": {"Acme\\": ["src/", "more"], "Acme\\Special\\": "special/"}, "classmap": ["legacy"],
			"psr-0": {"Old_": "old/"}, "files": ["src/other.php", "src/functions.php"]}, "autoload-dev": {"psr-4": {"Acme\\Tests\\": "tests/"}}}`,
		"packages/blog/composer.json":    `{"autoload": {"psr-4": {"Blog\\": ""}, "classmap": {}}}`,
		"packages/shadow/composer.json":  `{"autoload": {"psr-4": {"Acme\\": "", "Shadow\\": ""}}}`,
		"packages/shadow/Core/Store.php": "", "packages/shadow/Late.php": "<?php use Acme\\Core\\Store;",
		"packages/bad/composer.json":  `{"autoload"`,
		"packages/blog/Post.php":      "<?php namespace Blog; use Acme\\Core\\Store; use Blog\\Text\\Body;",
		"packages/blog/Text/Body.php": "",
		"src/Core/Store.php":          "",
		"more/Core/Extra.php":         "",
		"special/Thing.php":           "",
		"legacy/deep/Legacy.php":      "<?php\nnamespace Very\\Old;\nabstract class Legacy {}",
		"old/Old/Part/Name.php":       "",
		"src/functions.php":           "<?php namespace Acme; function helper() {}",
		"src/other.php":               "<?php namespace Other; function helper() {} namespace Acme; function helpers() {}",
		"tests/StoreTest.php":         "",
		"src/App.php":                 phpApp,
		"src/local.php":               "", "src/views/page.php": "", "bootstrap.php": "", "top.php": "",
		"wild/Lib/Text/Parser.php": "<?php namespace Lib\\Text; use Lib\\Core\\Token; use Lib\\Gone;",
		"wild/Lib/Core/Token.php":  "",
	}
	check(t, files, "php", []importing{
		{"app", "src/App.php", []string{
			"src/Core/Store.php", "more/Core/Extra.php", "special/Thing.php", "legacy/deep/Legacy.php", "old/Old/Part/Name.php",
			"src/functions.php", "tests/StoreTest.php", "packages/blog/Post.php", "src/views/page.php", "bootstrap.php",
			"src/local.php", "top.php",
		}},
		{"nearest package", "packages/shadow/Late.php", []string{"packages/shadow/Core/Store.php"}},
		{"package", "packages/blog/Post.php", []string{"src/Core/Store.php", "packages/blog/Text/Body.php"}},
		{"own namespace", "wild/Lib/Text/Parser.php", []string{"wild/Lib/Core/Token.php"}},
	})
}

const phpApp = `<?php
namespace Acme;
use Acme\Core\Store;
use Acme\Core\Extra;
use Acme\Special\Thing;
use Very\Old\Legacy;
use Old_Part_Name;
use function Acme\helper;
use Acme\Tests\StoreTest;
use Blog\Post;
use Symfony\Component\Console\Command;
use function Acme\missing;
require __DIR__ . '/views/page.php';
require_once dirname(__DIR__) . '/bootstrap.php';
require 'local.php';
require 'top.php';
require '../../../etc/passwd';
require '/top.php';
`

func FuzzPHP(f *testing.F) {
	fuzzes(f, "php", phpApp, "<?php \"{$a[\"b\"]}\"", "<?php <<<A\nA;", "<?php use A\\{B, C as D};", "<?php include(dirname(dirname(__DIR__, 3)) . 'x');")
}
