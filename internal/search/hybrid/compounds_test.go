package hybrid

import "testing"

// TestCompounds checks that a name is found whether it is written as one word or as several.
func TestCompounds(t *testing.T) {
	x := New(8)
	x.Put([]Item{
		{ID: 1, Text: "DuckDB for analytics"},
		{ID: 2, Text: "rabbitmq carries the events"},
		{ID: 3, Text: "ducks swim on the pond"},
		{ID: 4, Text: "all about something else"},
		{ID: 5, Text: "notes on duckdb"},
	})
	for query, want := range map[string]ID{"duckdb": 5, "DuckDB": 1, "duck db": 1, "RabbitMQ": 2, "rabbitmq": 2, "why rabbit-mq": 2} {
		found, err := x.Search(Query{Text: query})
		if err != nil || len(found.Hits) == 0 || found.Hits[0].ID != want {
			t.Errorf("%s finds %+v, %v", query, found, err)
		}
	}
	x.Drop([]ID{5})
	if found, _ := x.Search(Query{Text: "duckdb"}); len(found.Hits) == 0 || found.Hits[0].ID != 1 {
		t.Errorf("a deleted chunk hides others: %+v", found)
	}
	if found, _ := x.Search(Query{Text: "xyzzyplugh"}); len(found.Hits) != 0 {
		t.Errorf("gibberish finds %+v", found)
	}
}
