package inspect

import "agentrec/internal/printable"

// Everything recorded goes through these on its way to people.

func visible(s string) string           { return printable.Line(s) }
func visibleLines(s string) string      { return printable.Lines(s) }
func visibleCut(s string, n int) string { return printable.Cut(s, n) }
func safeJSON(j []byte) []byte          { return printable.JSON(j) }
