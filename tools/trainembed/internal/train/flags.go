package train

import "flag"

// Flags lets a caller change the options.
func (o *Options) Flags(flags *flag.FlagSet) {
	flags.Uint64Var(&o.Seed, "seed", o.Seed, "what chance depends on")
	flags.IntVar(&o.Dim, "dim", o.Dim, "length of the vectors, a multiple of 16")
	flags.IntVar(&o.Rows, "rows", o.Rows, "rows of the table")
	flags.IntVar(&o.Own, "own", o.Own, "pairs that must have a word for it to have a row of its own")
	flags.IntVar(&o.Sources, "sources", o.Sources, "packages that must have a word")
	flags.IntVar(&o.CutA, "cut-question", o.CutA, "words that are read of a question")
	flags.IntVar(&o.CutB, "cut-answer", o.CutB, "words that are read of an answer")
	flags.IntVar(&o.Batch, "batch", o.Batch, "pairs that are told apart at once, a multiple of 128")
	flags.IntVar(&o.Group, "group", o.Group, "pairs of a batch from one package")
	flags.IntVar(&o.Epochs, "epochs", o.Epochs, "times that all pairs are seen")
	flags.Float64Var(&o.Rate, "rate", o.Rate, "learning rate at the start")
	flags.Float64Var(&o.Scale, "scale", o.Scale, "1 / temperature")
	flags.Float64Var(&o.Dropout, "dropout", o.Dropout, "share of words left out by chance")
	flags.IntVar(&o.Prose, "prose", o.Prose, "times that prose is seen in an epoch")
	flags.IntVar(&o.Wordings, "wordings", o.Wordings, "times that wordings of one thing are seen in an epoch")
	flags.IntVar(&o.Synonyms, "synonyms", o.Synonyms, "times that synonyms are seen in an epoch")
	flags.IntVar(&o.Neighbours, "neighbours", o.Neighbours, "words near to one in GloVe that are learnt as its synonyms")
	flags.IntVar(&o.Steps, "steps", o.Steps, "stop after so many steps, to compare runs (0: never)")
}
