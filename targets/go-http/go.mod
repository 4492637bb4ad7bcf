module target

go 1.19
