package train

import "flag"

// Flags defines a flag for each option.
func (o *Options) Flags(flags *flag.FlagSet) {
	flags.Uint64Var(&o.Seed, "seed", o.Seed, "seed of the random numbers")
	flags.IntVar(&o.Dim, "dim", o.Dim, "length of the vectors, a multiple of 16")
	flags.IntVar(&o.Rows, "rows", o.Rows, "number of rows in the table")
	flags.IntVar(&o.Own, "own", o.Own, "minimum number of pairs with a word for it to have its own row")
	flags.IntVar(&o.Sources, "sources", o.Sources, "minimum number of packages with a word")
	flags.IntVar(&o.CutA, "cut-question", o.CutA, "number of words read from a question")
	flags.IntVar(&o.CutB, "cut-answer", o.CutB, "number of words read from an answer")
	flags.IntVar(&o.Batch, "batch", o.Batch, "number of pairs in a batch, a multiple of 128")
	flags.IntVar(&o.Group, "group", o.Group, "number of pairs in a row from one package")
	flags.IntVar(&o.Epochs, "epochs", o.Epochs, "number of passes over all pairs")
	flags.Float64Var(&o.Rate, "rate", o.Rate, "initial learning rate")
	flags.Float64Var(&o.Scale, "scale", o.Scale, "1 / temperature")
	flags.Float64Var(&o.Dropout, "dropout", o.Dropout, "share of words left out at random")
	flags.IntVar(&o.Prose, "prose", o.Prose, "how often prose occurs in an epoch")
	flags.IntVar(&o.Wordings, "wordings", o.Wordings, "how often wordings of one thing occur in an epoch")
	flags.IntVar(&o.Synonyms, "synonyms", o.Synonyms, "how often synonyms occur in an epoch")
	flags.IntVar(&o.Neighbours, "neighbours", o.Neighbours, "number of a word's neighbours in GloVe that are trained as its synonyms")
	flags.IntVar(&o.Steps, "steps", o.Steps, "stop after this many steps, to compare runs (0: never)")
}
