package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"remit/internal/contract"
	"remit/internal/frontends/cli"
	"remit/internal/search/embedapi"
	"remit/internal/search/model"
	"remit/internal/stores/sqlstore"
	"remit/internal/toolsets/codebase/knowledge"
	"remit/internal/toolsets/codebase/sessions"
	"remit/internal/toolsets/learning"
)

// newKnowledge prepares the index of what the project knows. Nothing is opened before it is first asked.
func (a *App) newKnowledge() (*knowledge.Index, error) {
	remote, err := a.remoteModel()
	if err != nil {
		return nil, err
	}
	return knowledge.New(knowledge.Options{
		Open: stored(a.database, func(db *sqlstore.DB) knowledge.Store { return db.Knowledge(a.kept.place) }),
		Tree: a.code.tree,
		Skip: a.code.outOfReach,
		Memory: &memories{
			a: a, rules: sync.OnceValue(func() *contract.PathPolicy { return &contract.PathPolicy{Deny: a.denied()} }),
		},
		MemoryFolder: memoryFolder,
		Local:        localModel,
		Remote:       remote,
		RemoteOnly:   a.settings.EmbeddingsOnly,
		Boosts:       a.accessScores,
		Now:          time.Now,
		Log:          a.log,
	}), nil
}

// newSessions remembers what clients do.
func (a *App) newSessions() *sessions.Keeper {
	open := stored(a.database, func(db *sqlstore.DB) sessions.Store { return db.Sessions(a.kept.place) })
	return sessions.NewKeeper(open, a.log, time.Now)
}

// embeddingsKey is the variable that holds the key of a service for embeddings.
const embeddingsKey = "REMIT_EMBEDDINGS_KEY"

// remoteModel is the service that makes vectors; nil if that is done here.
func (a *App) remoteModel() (knowledge.Embedder, error) {
	if a.settings.Embeddings == "" || a.settings.Embeddings == cli.LocalEmbeddings {
		return nil, nil
	}
	key, _ := a.settings.Env(embeddingsKey)
	client, err := embedapi.New(embedapi.Options{URL: a.settings.Embeddings, Model: a.settings.EmbeddingsModel, Key: key})
	if err != nil {
		return nil, fmt.Errorf("embeddings: %w", err)
	}
	return client, nil
}

// localModel is the model in the program.
func localModel() (knowledge.Embedder, error) {
	opened, err := model.Local()
	if err != nil {
		return nil, fmt.Errorf("open the model in the program: %w", err)
	}
	return staticModel{opened}, nil
}

// staticModel is the model in the program as the index takes it.
type staticModel struct{ *model.Model }

// Embed keeps the promise of knowledge.Embedder.
func (m staticModel) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		vectors[i] = m.Model.Embed(text)
	}
	return vectors, nil
}

// accessScores tells how much files matter by how they are read.
func (a *App) accessScores(ctx context.Context, paths []string) (map[string]float64, error) {
	accesses, err := a.accesses(ctx)
	if err != nil {
		return nil, err
	}
	known, err := accesses.Of(ctx, paths)
	if err != nil {
		return nil, err
	}
	scores := make(map[string]float64, len(known))
	now := time.Now()
	for _, access := range known {
		scores[access.Path] = access.Score(now)
	}
	return scores, nil
}

// memories are the memory files, wherever they are kept.
type memories struct {
	a     *App
	rules func() *contract.PathPolicy // which of them may be read: those that read_file may read
}

// Stamps keeps the promise of knowledge.Memory.
func (m *memories) Stamps(ctx context.Context) (map[string]string, error) {
	stamps := map[string]string{}
	for _, name := range m.names() {
		info, err := m.a.kept.memory.Stat(ctx, name, m.rules())
		var failure *contract.Error
		switch {
		case errors.As(err, &failure) && failure.Kind != contract.Unavailable:
			continue // it is not there, may not be read, or is no file
		case err != nil:
			return nil, err
		}
		stamps[name] = fmt.Sprintf("%d %d", info.Size(), info.ModTime().UnixNano())
	}
	return stamps, nil
}

// names are those of the files that tools write, and of others that people put beside them.
func (m *memories) names() []string {
	names := learning.MemoryFiles(m.a.known)
	listed, err := m.a.root.List(memoryFolder, "", m.rules())
	if err != nil {
		return names // there is no such folder, or it may not be read
	}
	for _, file := range listed {
		name := path.Base(file)
		if ext := path.Ext(name); !slices.Contains(names, name) && !strings.HasSuffix(file, "/") && (ext == ".jsonl" || ext == ".md") {
			names = append(names, name)
		}
	}
	return names
}

// Of a memory file that is larger than mostMemory bytes the newest are searched, from a place on that moves by memoryStep. So that it
// is known how many lines stand before, all of it is read; one that is larger than mostRead has no business among notes.
const (
	mostMemory = 16 << 20
	memoryStep = 4 << 20
	mostRead   = 256 << 20
)

// Read keeps the promise of knowledge.Memory.
func (m *memories) Read(ctx context.Context, name string) (content []byte, before int, err error) {
	info, err := m.a.kept.memory.Stat(ctx, name, m.rules())
	if err != nil {
		return nil, 0, err
	}
	if info.Size() > mostRead {
		m.a.log.Warn("a memory file is not searched: it is too large", "file", name, "bytes", info.Size(), "most", mostRead)
		return nil, 0, nil
	}
	tail, err := m.a.kept.memory.Tail(ctx, name, m.rules(), math.MaxInt64)
	if err != nil {
		return nil, 0, err
	}
	content, before = newestLines(tail.Text, mostMemory, memoryStep)
	return content, before, nil
}

// newestLines gives the last lines of a text, at most so many bytes of them, and how many lines stand before. Where they begin is the
// same for all texts that begin alike and are about as long.
func newestLines(text []byte, most, step int) (newest []byte, before int) {
	if len(text) <= most {
		return text, 0
	}
	start := (len(text) - most + step - 1) / step * step
	end := bytes.IndexByte(text[start-1:], '\n') // the byte before tells whether a line begins there
	if end < 0 {
		return nil, bytes.Count(text, []byte{'\n'}) // one endless line
	}
	start += end
	return text[start:], bytes.Count(text[:start], []byte{'\n'})
}

// closeKnowledge ends the work on the index and writes down what clients did.
func (a *App) closeKnowledge() error {
	ctx, cancel := context.WithTimeout(context.Background(), flushPatience)
	defer cancel()
	a.sessions.Close(ctx)
	return a.knows.Close()
}
