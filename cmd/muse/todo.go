package main

import (
	"errors"

	"github.com/spf13/cobra"
)

func stub(use, short string) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, RunE: func(*cobra.Command, []string) error { return errors.New("not built yet") }}
}

func demoCmd(a *app) *cobra.Command { return stub("demo", "The whole loop on a few tasks") }
func benchDecisionCmd(a *app) *cobra.Command {
	return stub("decision", "Time of one decision")
}
