package worldmodel

// ReportCPU is for the benchmarks of the outer test package.
var ReportCPU = cpu
