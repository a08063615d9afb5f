package imports

import "testing"

func TestRubyExtract(t *testing.T) {
	extracts(t, extractRuby, `#!/usr/bin/env ruby
# require 'not'
require 'a'
require_relative "b/c"
require("d") if x / 2 > 1 # it's / a quote
=begin
require 'not'
=end
text = <<~ONE + <<-'TWO' + <<THREE
  require 'not' "
  ONE
require 'not'
  TWO
 THREE
THREE
words = %w[it's require 'not'] + %q(require (nested) 'not)
re = /it's "/ ; x = a /b
y = n / 2 / 3; z = s.split(/'/) ; c = ?' ; d = x ?'a':'b'
s = "#{h["key"]} require 'not' #{x ? "}" : '}'}"
autoload :Thing, 'e/thing'
autoload(:Other, "e/other")
load 'tasks/f.rb'
require File.expand_path('../lib/g', __FILE__)
require File.expand_path("../../h", __dir__)
require File.join(__dir__, 'i', 'j')
require File.dirname(__FILE__) + '/k'
require "#{__dir__}/l"
require "not/#{x}"
require 'not' + x
require x
obj.require 'not'
Kernel.require 'm'
def require(name) = super
{ require: 'not', "load": 'not' }
%i[require load].each { |m| send m, :require }
class << self
  require 'n'
end
list <<'it' << "s" ; empty? 'x' ; v = $' ; w = %r{'[^/]} =~ $"
module X; require 'o'; end; q = "a" /2; u = 'x/'; require 'p'; r = "#{$'}" ; t = "#{x.sub(/"/, %q(}))}"
def /(other) = 1 ; def %(other) = 2 ; [:/, :%, :"require 'not'"]
__END__
require 'not' '
`, "3|0|a", "4|1|b/c", "5|0|d", "20|0|e/thing", "21|0|e/other", "22|2|tasks/f.rb", "23|1|lib/g", "24|1|../../h", "25|1|i/j",
		"26|1|k", "27|1|l", "32|0|m", "37|0|n", "40|0|o", "40|0|p")
	refuses(t, extractRuby, "require 'a'\n=begin\nrequire 'b'\n", 2)
	refuses(t, extractRuby, "require 'a'\nx = 'open\n", 2)
	refuses(t, extractRuby, "require 'a'\nx = <<~EOS\nrequire 'b'\n", 2)
	refuses(t, extractRuby, "require 'a'\nx = %w[\nrequire 'b'\n", 2)
}

func TestRubyFiles(t *testing.T) {
	files := memory{
		"acme.gemspec": "", "lib/acme.rb": rubyMain, "lib/acme/version.rb": "", "lib/acme/store.rb": "", "lib/acme/lazy.rb": "",
		"lib/json.rb/x": "", "tasks/build.rake": "", "lib/acme/data.txt": "",
		"spec/acme_spec.rb":   "require 'spec_helper'\nrequire 'acme'\nrequire_relative '../lib/acme/version'\nrequire 'other'\nrequire './support/x'",
		"spec/spec_helper.rb": "", "spec/support/x.rb": "",
		"other/other.gemspec": "", "other/lib/other.rb": "",
		"web/config/application.rb": "", "web/app/models/user.rb": "", "web/app/controllers/home.rb": "require 'user'\nrequire 'nothing'",
		"plain/app/models/user.rb": "", "plain/app/run.rb": "require 'user'",
	}
	check(t, files, "ruby", []importing{
		{"gem", "lib/acme.rb", []string{
			"lib/acme/version.rb", "lib/acme/store.rb", "lib/acme/lazy.rb", "tasks/build.rake", "other/lib/other.rb",
		}},
		{"spec", "spec/acme_spec.rb", []string{
			"spec/spec_helper.rb", "lib/acme.rb", "lib/acme/version.rb", "other/lib/other.rb", "spec/support/x.rb",
		}},
		{"rails", "web/app/controllers/home.rb", []string{"web/app/models/user.rb"}},
		{"not rails", "plain/app/run.rb", nil},
	})
}

const rubyMain = `require 'json'
require 'acme/version'
require_relative 'acme/store'
require 'acme/data'
module Acme
  autoload :Lazy, 'acme/lazy'
  load 'tasks/build.rake'
  require '../../../etc/passwd'
  require '/etc/passwd'
  require 'other'
end
`

func FuzzRuby(f *testing.F) {
	fuzzes(f, "ruby", rubyMain, "x = <<~A\nA\n", "%w[", "?\\", "\"#{\"#{", "$", "%", "a /b/", "<<", "<<~", "require File.join(__dir__, 'x')")
}
