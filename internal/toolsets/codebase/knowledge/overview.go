package knowledge

import (
	"cmp"
	"context"
	"slices"
	"unique"

	"remit/internal/search/chunk"
	"remit/internal/search/hybrid"
)

// Overview holds counts of what a project knows.
type Overview struct {
	State   State
	Sources []Count // number of chunks by source: discovery, docs, code, session
	Types   []Count // number of discoveries by type
	Modules []ModuleCount
	Newest  []Hit // discoveries
}

// Count is a name with a number.
type Count struct {
	Name  string
	Count int
}

// ModuleCount holds how much is known about a module.
type ModuleCount struct {
	Name        string
	Files       int
	Chunks      int
	Discoveries int
}

// ModuleView is what is known about a module.
type ModuleView struct {
	State       State
	Name        string
	Discoveries []Hit   // the newest first
	Files       []Count // those with most chunks first
	Docs        []Hit   // ordered by path
}

// Limits of an overview.
const (
	newestShown      = 10
	discoveriesShown = 50
	filesShown       = 50
	docsShown        = 30
)

// Overview returns counts. An empty index is not an error.
func (x *Index) Overview(ctx context.Context) (Overview, error) {
	ctx, leave, err := x.enter(ctx)
	if err != nil {
		return Overview{}, err
	}
	defer leave()
	_, failed := x.freshen(ctx)
	if err := x.gone(ctx); err != nil {
		return Overview{}, err
	}
	o := Overview{State: x.State()}
	if o.State.Chunks == 0 {
		return o, failed
	}
	newest := x.tally(&o)
	o.Newest, err = x.hits(ctx, latest(newest, newestShown))
	return o, err
}

// tally counts chunks and returns all discoveries.
func (x *Index) tally(o *Overview) (discoveries []place) {
	sources, kinds := map[unique.Handle[string]]int{}, map[unique.Handle[string]]int{}
	modules, files := map[unique.Handle[string]]*ModuleCount{}, map[unique.Handle[string]]map[*origin]bool{}
	discovery := unique.Make(chunk.Discovery)
	x.catalog.table.each(func(id hybrid.ID, e *entry) {
		sources[e.source]++
		m := modules[e.module]
		if m == nil {
			m = &ModuleCount{Name: e.module.Value()}
			modules[e.module], files[e.module] = m, map[*origin]bool{}
		}
		m.Chunks++
		files[e.module][e.origin] = true
		if e.source == discovery {
			kinds[e.kind]++
			m.Discoveries++
			discoveries = append(discoveries, place{id, e})
		}
	})
	o.Sources, o.Types = counted(sources), counted(kinds)
	for n, m := range modules {
		m.Files = len(files[n])
		if m.Name != "" {
			o.Modules = append(o.Modules, *m)
		}
	}
	slices.SortFunc(o.Modules, func(a, b ModuleCount) int {
		return cmp.Or(cmp.Compare(b.Chunks, a.Chunks), cmp.Compare(a.Name, b.Name))
	})
	return discoveries
}

// counted converts counts into a list, the most frequent first.
func counted(counts map[unique.Handle[string]]int) []Count {
	var named []Count
	for name, count := range counts {
		named = append(named, Count{name.Value(), count})
	}
	slices.SortFunc(named, byCount)
	return named
}

func byCount(a, b Count) int {
	return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name))
}

// latest returns the newest chunks.
func latest(places []place, limit int) []place {
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(b.entry.date, a.entry.date), inOrder(a, b))
	})
	return places[:min(limit, len(places))]
}

func inOrder(a, b place) int {
	return cmp.Or(cmp.Compare(a.entry.origin.path, b.entry.origin.path), cmp.Compare(a.entry.number, b.entry.number))
}

// hits reads chunks for display. It omits duplicates.
func (x *Index) hits(ctx context.Context, places []place) ([]Hit, error) {
	candidates := make([]candidate, len(places))
	for i, at := range places {
		candidates[i].place = at
	}
	read, err := x.show(ctx, candidates)
	if err != nil {
		return nil, err
	}
	kept, _ := fold(read, len(read))
	var hits []Hit
	for i := range kept {
		hits = append(hits, x.hit(&kept[i]))
	}
	return hits, nil
}

// Module returns what is known about a module. The view of an unknown module is empty.
func (x *Index) Module(ctx context.Context, name string) (ModuleView, error) {
	ctx, leave, err := x.enter(ctx)
	if err != nil {
		return ModuleView{}, err
	}
	defer leave()
	_, failed := x.freshen(ctx)
	if err := x.gone(ctx); err != nil {
		return ModuleView{}, err
	}
	v := ModuleView{State: x.State(), Name: name}
	if v.State.Chunks == 0 {
		return v, failed
	}
	discoveries, docs := x.ofModule(&v)
	if v.Discoveries, err = x.hits(ctx, latest(discoveries, discoveriesShown)); err != nil {
		return v, err
	}
	slices.SortFunc(docs, inOrder)
	v.Docs, err = x.hits(ctx, docs[:min(docsShown, len(docs))])
	return v, err
}

// ofModule counts the chunks of a module by file, and returns its discoveries and docs.
func (x *Index) ofModule(v *ModuleView) (discoveries, docs []place) {
	if v.Name == "" {
		return nil, nil
	}
	module, discovery, prose := unique.Make(v.Name), unique.Make(chunk.Discovery), unique.Make(chunk.Docs)
	files := map[string]int{}
	x.catalog.table.each(func(id hybrid.ID, e *entry) {
		if e.module != module {
			return
		}
		switch e.source {
		case discovery:
			discoveries = append(discoveries, place{id, e})
		case prose:
			docs = append(docs, place{id, e})
		}
		if !isFed(e.origin.path) {
			files[e.origin.path]++
		}
	})
	for path, count := range files {
		v.Files = append(v.Files, Count{path, count})
	}
	slices.SortFunc(v.Files, byCount)
	v.Files = v.Files[:min(filesShown, len(v.Files))]
	return discoveries, docs
}
