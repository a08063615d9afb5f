<html><body class="function">
<?php
declare(strict_types=1);

namespace Acme\Web;

use function Foo\bar;

# function commented() {}
interface Renders { public function render(array $a = []): string; }

#[Attribute(1)]
final class Page extends Base implements Renders
{
    use Loggable;
    const X = self::class;

    public function __construct(private readonly string $name = 'it\'s }') {}

    public static function &make(?string $s): ?static
    {
        $text = <<<EOT
        function no() { $s }
        EOT;
        $f = function ($x) use ($s) { return "}$x"; };
        return new class extends Page { function hidden() {} };
    }
}

enum Suit: string { case A = 'a'; public function label(): string { return ''; } }
trait Loggable { protected function log() { } }
function helper(int ...$n) { return array_map(fn($x) => $x, $n); }
?>
<p>class Not {</p>
<?php function tail() {
}
