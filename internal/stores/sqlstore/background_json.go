package sqlstore

import (
	"encoding/json"
	"strings"
	"time"

	"remit/internal/contract/jsontree"
	"remit/internal/engine"
	"remit/internal/engine/background"
)

// The JSON of these types is in databases: their tags must not change.
type (
	storedQuestion struct {
		Key     string            `json:"key"`
		Needs   engine.Capability `json:"needs"`
		Params  jsontree.Value    `json:"params"`
		Guarded bool              `json:"guarded,omitempty"`
	}
	storedFault struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
	// storedResume is what the next run of a task goes on from.
	storedResume struct {
		Round    int                       `json:"round"`
		Approved bool                      `json:"approved,omitempty"`
		Ended    time.Time                 `json:"ended,omitzero"` // the round before
		Key      string                    `json:"key,omitempty"`
		Answers  map[string]jsontree.Value `json:"answers,omitempty"`
		Asked    []string                  `json:"asked,omitempty"`
	}
)

func questionsToJSON(questions []engine.Question) ([]byte, error) {
	if len(questions) == 0 {
		return nil, nil
	}
	stored := make([]storedQuestion, len(questions))
	for i, q := range questions {
		stored[i] = storedQuestion(q)
	}
	return json.Marshal(stored)
}

func questionsFromJSON(data []byte, t *background.Task) error {
	if data == nil {
		return nil
	}
	var stored []storedQuestion
	err := json.Unmarshal(data, &stored)
	for _, q := range stored {
		t.Questions = append(t.Questions, engine.Question(q))
	}
	return err
}

func faultToJSON(fault *engine.ProtocolError) ([]byte, error) {
	if fault == nil {
		return nil, nil
	}
	return json.Marshal(storedFault(*fault))
}

func faultFromJSON(data []byte, t *background.Task) error {
	if data == nil {
		return nil
	}
	var stored storedFault
	err := json.Unmarshal(data, &stored)
	t.Fault = (*engine.ProtocolError)(&stored)
	return err
}

func resumeToJSON(t *background.Task) ([]byte, error) {
	return json.Marshal(storedResume{
		Round: t.Round.Number, Approved: t.Round.Approved, Ended: t.Round.Asked.UTC().Truncate(time.Microsecond),
		Key: t.Round.Key, Answers: t.Answers, Asked: t.Asked,
	})
}

func resumeFromJSON(data []byte, t *background.Task) error {
	var stored storedResume
	err := json.Unmarshal(data, &stored)
	t.Round = engine.Round{Number: stored.Round, Approved: stored.Approved, Asked: stored.Ended, Key: stored.Key}
	t.Answers, t.Asked = stored.Answers, stored.Asked
	return err
}

// words are the capabilities as one text.
func words(capabilities []engine.Capability) string {
	all := make([]string, len(capabilities))
	for i, c := range capabilities {
		all[i] = string(c)
	}
	return strings.Join(all, " ")
}
