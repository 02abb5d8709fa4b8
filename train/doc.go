// Package train runs the phases of the paper: collect (Algorithm 3), training of
// the self-assessment, adaptation (Algorithm 4) and evaluation, with run folders
// that resume.
package train
