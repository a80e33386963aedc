net tiny
{
// property softwar aGrUM 3.3.1

	node c
	{
		TYPE = CPT;
		HEADER =
		{
			ID = c;
			NAME = "c";
		};
		PARENTS = ();
		DEFINITION =
		{
			NAMESTATES = (low, mid, high);
			PROBABILITIES = (0.2, 0.3, 0.5);
		};
	};

	node a
	{
		TYPE = CPT;
		HEADER =
		{
			ID = a;
			NAME = "a";
		};
		PARENTS = ();
		DEFINITION =
		{
			NAMESTATES = (no, yes);
			PROBABILITIES = (0.25, 0.75);
		};
	};

	node b
	{
		TYPE = CPT;
		HEADER =
		{
			ID = b;
			NAME = "b";
		};
		PARENTS = (a, c);
		DEFINITION =
		{
			NAMESTATES = (x1, x2, x3);
			PROBABILITIES = (0.5, 0.25, 0.25, 0.125, 0.125, 0.75, 0.1, 0.2, 0.7, 0.3, 0.3, 0.4, 0.05, 0.9, 0.05, 0.6, 0.15, 0.25);
		};
	};

};