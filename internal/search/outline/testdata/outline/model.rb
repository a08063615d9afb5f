# frozen_string_literal: true
=begin
class Nope
=end
module Billing
  class Invoice < ApplicationRecord
    TOTAL = 1

    def self.find_open(id)
      where(id: id).each do |x|
        x
      end
    end

    def total = 3
    def empty?; false end

    private def secret(a, b = {})
      sql = <<~SQL
        def fake
        end
      SQL
      if a
        b
      end
    end

    class << self
      def build
      end
    end

    def ==(other)
      true
    end
  end

  class Error < StandardError; end
end

def top
  puts "end"
end
__END__
def data
