package imports

import "testing"

func TestCsharpExtract(t *testing.T) {
	extracts(t, extractCSharp, `// using Not.This;
#pragma warning disable CS1591 // don't
#if NET
extern alias grid;
using System;
#endif
global using Acme.Core;
using static Acme.Math.Functions;
using Json = Acme.Text.Json;
using Map = Acme.Maps.Map<string, int>;
using global::Acme.Deep . Er;
[assembly: Info(@"c:\", $"using {"Not"}.This;", """using Not;""")]
namespace Acme.App
{
    using Acme.Inside;
    /* using Not.This; */
    public class A { void M() { using var x = Y(); using (z) {} } }
    using Too.Late;
}
`, "5|0|System", "7|0|Acme.Core", "8|1|Acme.Math.Functions", "9|1|Acme.Text.Json", "10|1|Acme.Maps.Map", "11|0|Acme.Deep.Er",
		"13|2|Acme.App", "15|0|Acme.Inside")
	extracts(t, extractCSharp, "using var file = Open();\nusing (x) {}")
	refuses(t, extractCSharp, "using A;\n\n/* open\nusing B;", 3)
	refuses(t, extractCSharp, "using A;\n[assembly: B(@\"open \"\"\n\n)]", 2)
}

func TestCsharpFiles(t *testing.T) {
	files := memory{
		"src/App/App.csproj":        `<Project><PropertyGroup><RootNamespace>Acme.App</RootNamespace></PropertyGroup><ItemGroup><ProjectReference Include="..\Core\Acme.Core.csproj" /></ItemGroup></Project>`,
		"src/Core/Acme.Core.csproj": `<Project><ItemGroup><ProjectReference PrivateAssets="all" Include='../Base/Base.csproj'/></ItemGroup></Project>`,
		"src/Base/Base.csproj":      "<Project/>",
		"src/App/Program.cs":        csharpProgram,
		"src/App/Models/User.cs":    "namespace Acme.App.Models;\npublic record User(string Name);\n",
		"src/App/Models/Stray.cs":   "namespace Acme.Elsewhere;\npublic class Stray {}\n",
		"src/App/Models/Role.cs":    "namespace Acme.App { namespace Models { enum Role { A } } }",
		"src/Core/Text/Json.cs":     "using System;\nnamespace Acme.Core.Text\n{\n    public static class Json { public class Part {} }\n}\n",
		"src/Core/Text/Other.cs":    "namespace Acme.Core.Text { class Other { Json x; } }",
		"src/Base/Thing.cs":         "namespace Base;\nclass Thing {}",
		"src/Lone/Lone.csproj":      "<Project/>",
		"src/Lone/Models/User.cs":   "namespace Lone.Models;\nclass User {}",
		"Assets/Game/Play/Hero.cs":  "using Game.World;\nusing Game.Play;\nnamespace Game.Play { class Hero {} }",
		"Assets/Game/World/Map.cs":  "namespace Game.World { class Map {} }",
	}
	check(t, files, "csharp", []importing{
		{"program", "src/App/Program.cs", []string{
			"src/App/Models/Role.cs", "src/App/Models/User.cs", "src/Core/Text/Json.cs", "src/Base/Thing.cs", "src/Core/Text/Other.cs",
		}},
		{"no project", "Assets/Game/Play/Hero.cs", []string{"Assets/Game/World/Map.cs"}},
	})
}

const csharpProgram = `using System.Text;
using Acme.App.Models;
using static Acme.Core.Text.Json.Part;
using Lone.Models;
using Base;
using T = Acme.Core.Text;

namespace Acme.App;
`

func FuzzCsharp(f *testing.F) {
	fuzzes(f, "csharp", csharpProgram, "[a(@\"\"\"", "using X = A::B<C<D>>;", "namespace A { namespace B {")
}
