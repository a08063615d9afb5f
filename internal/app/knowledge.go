package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"remit/internal/contract"
	"remit/internal/frontends/cli"
	"remit/internal/search/embedapi"
	"remit/internal/search/model"
	"remit/internal/stores/sqlstore"
	"remit/internal/stores/workspace"
	"remit/internal/toolsets/codebase/knowledge"
	"remit/internal/toolsets/codebase/sessions"
	"remit/internal/toolsets/learning"
)

// newKnowledge prepares the knowledge index of the project. It opens nothing before the first
// query.
func (a *App) newKnowledge() (*knowledge.Index, error) {
	remote, err := a.remoteModel()
	if err != nil {
		return nil, err
	}
	return knowledge.New(knowledge.Options{
		Open: a.openIndex,
		Tree: a.code.tree,
		Skip: a.code.unsearchable,
		Memory: &memories{
			a: a, rules: sync.OnceValue(func() *contract.PathPolicy { return &contract.PathPolicy{Deny: a.denied(), Secrets: a.secrets} }),
		},
		MemoryFolder: memoryFolder,
		Local:        localModel,
		Remote:       remote,
		RemoteOnly:   a.settings.EmbeddingsOnly,
		Boosts:       a.accessScores,
		Snapshots:    &indexFile{a: a},
		Now:          time.Now,
		Log:          a.log,
	}), nil
}

// openIndex opens the store of the index. A search that may not create the database of the
// workspace gets a temporary one.
func (a *App) openIndex(ctx context.Context) (knowledge.Store, error) {
	from := a.database
	if a.settings.Transient {
		a.scratch.once.Do(func() {
			if !from.exists() {
				a.scratch.err = a.scratch.create(a.root, a.log)
			}
		})
		if a.scratch.err != nil {
			return nil, a.scratch.err
		}
		if a.scratch.database != nil {
			from = a.scratch.database
		}
	}
	return stored(from, func(db *sqlstore.DB) knowledge.Store { return db.Knowledge(a.storage.place) })(ctx)
}

// scratchIndex is a database in a temporary folder.
type scratchIndex struct {
	once     sync.Once
	folder   string
	database *database // nil if there is none
	err      error
}

func (s *scratchIndex) create(root *workspace.Root, log *slog.Logger) (err error) {
	if s.folder, err = os.MkdirTemp("", "remit-index-"); err != nil {
		return fmt.Errorf("create a temporary index: %w", err)
	}
	s.database = newDatabase("sqlite://"+filepath.Join(s.folder, "index.db"), root, func() error { return nil }, log)
	return nil
}

func (s *scratchIndex) close() error {
	if s.database == nil {
		return nil
	}
	return errors.Join(s.database.close(), os.RemoveAll(s.folder))
}

// loadKnowledge loads the knowledge index into memory if a search has built it before, so that the
// first search of a client need not wait. It sends nothing to an embedding service.
func (a *App) loadKnowledge(ctx context.Context) {
	if a.settings.Embeddings != cli.LocalEmbeddings || !a.database.exists() {
		return
	}
	db, err := a.database.open(ctx)
	if err != nil {
		return // what needs the database says so
	}
	built := errors.New("there is an index")
	_, err = db.Knowledge(a.storage.place).Load(ctx, 0, func(s knowledge.Source) error {
		if s.Gone {
			return nil
		}
		return built
	})
	if !errors.Is(err, built) {
		return
	}
	if err := a.knowledge.Run(ctx, nil); err != nil && ctx.Err() == nil {
		a.log.Debug("cannot load the project index", "error", err)
	}
}

// newSessions returns the recorder of client sessions.
func (a *App) newSessions() *sessions.Recorder {
	open := stored(a.database, func(db *sqlstore.DB) sessions.Store { return db.Sessions(a.storage.place) })
	return sessions.NewRecorder(open, a.log, time.Now)
}

// embeddingsKey is the environment variable with the key of the embedding service.
const embeddingsKey = "REMIT_EMBEDDINGS_KEY"

// remoteModel returns the embedding service, or nil if the built-in model is used.
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

// localModel returns the built-in model.
func localModel() (knowledge.Embedder, error) {
	opened, err := model.Local()
	if err != nil {
		return nil, fmt.Errorf("open the built-in model: %w", err)
	}
	return staticModel{opened}, nil
}

// staticModel adapts the built-in model to knowledge.Embedder.
type staticModel struct{ *model.Model }

// Embed implements knowledge.Embedder.
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

// accessScores returns how important files are, judged by how often they are read.
func (a *App) accessScores(ctx context.Context, paths []string) (map[string]float64, error) {
	if !a.HasData() {
		return nil, nil
	}
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

// memories gives the knowledge index access to the memory files, in whichever store. It implements
// knowledge.Memory.
type memories struct {
	a     *App
	rules func() *contract.PathPolicy // the policy of read_file
}

// Stamps implements knowledge.Memory.
func (m *memories) Stamps(ctx context.Context) (map[string]string, error) {
	stamps := map[string]string{}
	for _, name := range m.names() {
		info, err := m.a.storage.memory.Stat(ctx, name, m.rules())
		var failure *contract.Error
		switch {
		case errors.As(err, &failure) && failure.Kind != contract.Unavailable:
			continue // it does not exist, may not be read, or is not a file
		case err != nil:
			return nil, err
		}
		stamps[name] = fmt.Sprintf("%d %d", info.Size(), info.ModTime().UnixNano())
	}
	return stamps, nil
}

// names returns the names of the files that tools write, and of other memory files in the folder.
func (m *memories) names() []string {
	names := learning.MemoryFiles(m.a.known)
	listed, err := m.a.root.List(memoryFolder, "", m.rules())
	if err != nil {
		return names // the folder does not exist, or may not be read
	}
	for _, file := range listed {
		name := path.Base(file)
		if ext := path.Ext(name); !slices.Contains(names, name) && !strings.HasSuffix(file, "/") && (ext == ".jsonl" || ext == ".md") {
			names = append(names, name)
		}
	}
	return names
}

// Only the newest lines of a memory file larger than maxMemory bytes are searched, from an offset
// that moves in steps of memoryStep. The whole file is read, to count the lines before that offset.
// A file larger than maxRead is not searched at all.
const (
	maxMemory  = 16 << 20
	memoryStep = 4 << 20
	maxRead    = 256 << 20
)

// Read implements knowledge.Memory.
func (m *memories) Read(ctx context.Context, name string) (content []byte, before int, err error) {
	info, err := m.a.storage.memory.Stat(ctx, name, m.rules())
	if err != nil {
		return nil, 0, err
	}
	if info.Size() > maxRead {
		m.a.log.Warn("a memory file is too large to be searched", "file", name, "bytes", info.Size(), "max", maxRead)
		return nil, 0, nil
	}
	tail, err := m.a.storage.memory.Tail(ctx, name, m.rules(), math.MaxInt64)
	if err != nil {
		return nil, 0, err
	}
	content, before = newestLines(tail.Text, maxMemory, memoryStep)
	return content, before, nil
}

// newestLines returns the last lines of a text, at most maxSize bytes, and how many lines precede
// them. The offset of the first line stays the same until the text has grown by a step.
func newestLines(text []byte, maxSize, step int) (newest []byte, before int) {
	if len(text) <= maxSize {
		return text, 0
	}
	start := (len(text) - maxSize + step - 1) / step * step
	// The byte before tells whether a line begins there.
	end := bytes.IndexByte(text[start-1:], '\n')
	if end < 0 {
		return nil, bytes.Count(text, []byte{'\n'}) // one very long line
	}
	start += end
	return text[start:], bytes.Count(text[:start], []byte{'\n'})
}

// closeKnowledge stops the work on the index and stores the client sessions.
func (a *App) closeKnowledge() error {
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	a.sessions.Close(ctx)
	return a.knowledge.Close()
}
